"""The budgets of the design as one command: `make bench`, or `python -m tests.bench --only PATTERN --json`.

A row measures a subject and its reference command in the same run, interleaved, and gives the ratio of their medians,
or a value of its own. To add one, write it into a module named `rows_<topic>.py` here; all such modules are found:

    import sys

    from tests.bench.lab import Lab
    from tests.bench.registry import Measured, row

    @row("guard: 1,000 live claims", budget="2.0 x (aim 1.3)", limit=2.0, reference="python -c pass + git diff-index")
    def guard(lab: Lab) -> Measured:
        repo = lab.repo("guard")  # a sealed repository in the run's scratch folder
        times = lab.interleave(
            {
                "guard": lambda: repo.run("sh", ".git/hooks/pre-commit", check=True),
                "bare": lambda: (repo.run(sys.executable, "-c", "pass"), repo.git("diff-index", "--cached", "HEAD")),
            }
        )
        return Measured.ratio(times["guard"], times["bare"])

`limit=None` makes a row informational: printed, never judged. Work that must not be timed goes before `interleave`, or
outside `with lab.timed():` in the command itself. `unit` is `x` for ratios; with `unit="ms"` return `Measured(value)`.
What is expensive to build is kept by a `functools.cache`d function of the lab, so that rows share it.
"""
