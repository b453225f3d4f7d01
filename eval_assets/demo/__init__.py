"""
A suite, its cases and a small local agent server, so that the main job runs on a fresh machine.

What is measured here is invented: a support desk and the models that answer it. Importing this package imports
neither starlette nor uvicorn; `eval_assets.demo.server` does.
"""

from __future__ import annotations

from pathlib import Path

SUITE_PATH = Path(__file__).parent / "suite.yaml"
"""The demo's suite file."""
URL_VARIABLE = "EVAL_ASSETS_DEMO_URL"
"""The environment variable through which the suite learns where the server listens."""

__all__ = ["SUITE_PATH", "URL_VARIABLE"]
