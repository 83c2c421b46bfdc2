"""Run the demo."""


def run() -> None: ...
