"""Faults on purpose: killed trainings, garbage on the line protocol, hostile files."""
