"""Inference: what evidence and interventions say about a network's nodes."""
