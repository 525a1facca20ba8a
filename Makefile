# Everything runs in .venv, which these targets create themselves. --group needs pip 25.1.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
NODE_MODULES := clients/typescript/node_modules/.package-lock.json

.PHONY: demo example-server test surfaces docs bench league peers adapters clean

demo: $(VENV)/installed
	$(RUN)/heliotrope demo --out out/demo

example-server: $(VENV)/installed
	$(RUN)/python examples/tune_a_server.py

test: $(VENV)/installed $(if $(shell command -v npm),$(NODE_MODULES))
	scripts/install-chromium
	$(RUN)/ruff format --check
	$(RUN)/ruff check
	$(RUN)/mypy
	$(RUN)/lint-imports --no-logo
	$(RUN)/codespell
	$(RUN)/python scripts/lint_prose.py
	$(RUN)/pytest -n 2

surfaces: $(VENV)/installed $(NODE_MODULES)  # the files that follow from the commands' fields
	$(RUN)/python scripts/write_surfaces.py
	$(RUN)/python scripts/describe_api.py
	cd clients/typescript && npm run --silent generate

docs: $(VENV)/installed  # the site, in out/site
	NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict --quiet

bench: $(VENV)/installed
	$(RUN)/python -m benchmarks

league: $(VENV)/installed
	$(RUN)/heliotrope league --out out/league

peers: $(VENV)/installed $(VENV)-peers/installed
	$(RUN)/python -m benchmarks.peers --python $(VENV)-peers/bin/python --out out/peers

adapters: $(VENV)-adapters/installed
	$(VENV)-adapters/bin/python -m pytest --noconftest -W default $(addprefix tests/integrations/test_,ax.py examples.py ray.py xopt.py)

$(VENV)-adapters/installed: pyproject.toml
	$(PYTHON) -m venv --upgrade-deps $(VENV)-adapters
	$(VENV)-adapters/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group adapters
	touch $@

$(NODE_MODULES): clients/typescript/package-lock.json
	cd clients/typescript && npm ci --silent --no-fund --no-audit
	touch $@

$(VENV)-peers/installed: pyproject.toml
	$(PYTHON) -m venv --upgrade-deps $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check . --group peers
	touch $@

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv --upgrade-deps $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-peers $(VENV)-adapters clients/typescript/node_modules out
