"""Kubernetes, as far as an API server alone shows it."""
