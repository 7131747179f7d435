"""Faults on purpose: killed trainings, garbage on the line protocol, hostile files; none may do harm."""
