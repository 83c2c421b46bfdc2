"""Results of case files as JUnit XML, as builds read them: GitLab, Jenkins, GitHub's actions that report tests.

A file is a test suite and a case a test. One that needs a feature which is not there is an error, one that has failed a
failure. There is no schema that all readers share: `file` and `line`, which name the case's place, are what several
of them show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from penstock.testing.case_run import PASSED, UNSUPPORTED, Result

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what no document of XML can hold


def as_junit(results: Sequence[Result]) -> str:
    """The results as one document."""
    root = ET.Element("testsuites", {"name": "penstock", **_counts(results)})
    for file in dict.fromkeys(result.file for result in results):
        of_file = [result for result in results if result.file == file]
        suite = ET.SubElement(root, "testsuite", {"name": file, **_counts(of_file)})
        for result in of_file:
            _add(suite, result)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _counts(results: Sequence[Result]) -> dict[str, str]:
    failures = sum(result.status not in (PASSED, UNSUPPORTED) for result in results)
    errors = sum(result.status == UNSUPPORTED for result in results)
    seconds = sum(result.seconds for result in results)
    return {"tests": str(len(results)), "failures": str(failures), "errors": str(errors), "time": f"{seconds:.3f}"}


def _add(suite: ET.Element, result: Result) -> None:
    named = {"classname": result.file, "name": result.case, "file": result.file, "line": str(result.line)}
    case = ET.SubElement(suite, "testcase", {**named, "time": f"{result.seconds:.3f}"})
    if result.status == PASSED:
        return
    detail = _NO_XML.sub("\N{REPLACEMENT CHARACTER}", result.detail)
    what = "error" if result.status == UNSUPPORTED else "failure"
    ET.SubElement(case, what, type=result.status, message=detail.split("\n")[0]).text = detail
