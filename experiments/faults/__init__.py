"""Fault injection: killed trainings, garbage on the line protocol, hostile files."""
