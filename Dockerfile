# The service, as a user without rights, with the studies in /var/lib/heliotrope.
FROM python:3.13-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY src ./src
RUN python -m venv /opt/heliotrope
RUN /opt/heliotrope/bin/pip install --no-cache-dir ".[service]"

FROM python:3.13-slim
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/heliotrope heliotrope
COPY --from=build /opt/heliotrope /opt/heliotrope
ENV PATH=/opt/heliotrope/bin:$PATH \
    HELIOTROPE_STORE=sqlite:////var/lib/heliotrope/studies.db \
    OPENBLAS_NUM_THREADS=1
USER 10001
WORKDIR /var/lib/heliotrope
VOLUME /var/lib/heliotrope
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=8s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=6)"]
ENTRYPOINT ["heliotrope"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8765", "--token-file", "/run/secrets/heliotrope_tokens"]
