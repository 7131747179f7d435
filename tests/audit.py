"""Look up known vulnerabilities of the versions in constraints.txt: make audit.

pip-audit reports "no known vulnerabilities" also for packages that it could not look up, so its report is read here.
"""

import json
import subprocess
import sys

from tests.lab import ROOT

COMMAND = (
    *(sys.executable, "-m", "pip_audit", "--requirement", "constraints.txt", "--no-deps", "--disable-pip"),
    *("--format", "json", "--progress-spinner", "off"),
)


def verdict(report: str, errors: str) -> tuple[int, str]:
    """Return the exit status and the text to print: 0 for no vulnerabilities, 1 for some, 2 if the lookup was
    incomplete.
    """
    try:
        packages = json.loads(report)["dependencies"]
    except (ValueError, KeyError):
        reason = (errors.strip().splitlines() or ["no report"])[-1]
        if "requests.exceptions" in reason:
            return 2, "nothing was audited: the advisory database cannot be reached from here"
        return 2, f"nothing was audited: pip-audit ended with {reason}"
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if len(skipped) == len(packages):
        return 2, "nothing was audited: the package index here has no advisories, so run this where PyPI can be reached"
    found = [
        f"{package['name']} {package['version']}: {known['id']}, fixed in {', '.join(known['fix_versions']) or 'none'}"
        for package in packages
        for known in package.get("vulns", ())
    ]
    lines = [*found, *(f"{name}: could not be looked up" for name in skipped)]
    lines.append(f"{len(packages) - len(skipped)} pinned versions, {len(found)} known vulnerabilities")
    return (1 if found else 2 if skipped else 0), "\n".join(lines)


def main() -> int:
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, check=False)
    status, text = verdict(done.stdout, done.stderr)
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
