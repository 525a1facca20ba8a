"""Studies over HTTP: JSON in and out, locked by default.

``heliotrope serve`` runs it; :func:`create_app` is the application for your own server.
"""

from heliotrope.service.app import create_app as create_app
from heliotrope.service.settings import Limits as Limits, Settings as Settings
