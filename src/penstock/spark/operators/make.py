"""The runner for each class of operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from penstock.circuit.operators import (
    Additive,
    Bilinear,
    Clocked,
    Constant,
    Counted,
    Iterated,
    Keyed,
    Linear,
    Operator,
    Ranked,
    Recomputed,
    Sessions,
)
from penstock.errors import Diagnostic, InternalError
from penstock.spark.operators.best import BestRunner, only_pushed_back
from penstock.spark.operators.counted import CountedRunner
from penstock.spark.operators.grouped import AdditiveRunner
from penstock.spark.operators.iterated import IteratedRunner
from penstock.spark.operators.join import BilinearRunner
from penstock.spark.operators.keyed import KeyedRunner
from penstock.spark.operators.linear import ClockedRunner, ConstantRunner, LinearRunner
from penstock.spark.operators.ranked import RankedRunner
from penstock.spark.operators.recomputed import RecomputedRunner, RepeatedRunner
from penstock.spark.operators.runner import Runner
from penstock.spark.operators.sessions import SessionsRunner
from penstock.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def make_runner(
    workspace: Workspace, operator: Operator, schemas: Sequence[StructType], output: Callable[[], StructType]
) -> Runner:
    """A runner without state; `schemas` are those of the inputs' changes, `output` that of its own, `__weight` last."""
    match operator:
        case Constant():
            return ConstantRunner(workspace, operator)
        case Linear():
            return LinearRunner(workspace, operator, output(), schemas)
        case Clocked():
            return ClockedRunner(workspace, operator, output(), schemas)
        case Bilinear():
            return BilinearRunner(workspace, operator, schemas[0], schemas[1])
        case Additive():
            return AdditiveRunner(workspace, operator, schemas[0])
        case Counted():
            return CountedRunner(workspace, operator, schemas)
        case Keyed() if only_pushed_back(operator):
            return BestRunner(workspace, operator, schemas, output)
        case Keyed():
            return KeyedRunner(workspace, operator, schemas, output)
        case Sessions():
            return SessionsRunner(workspace, operator, schemas[0], output)
        case Ranked():
            return RankedRunner(workspace, operator, schemas[0])
        case Recomputed():
            return RecomputedRunner(workspace, operator, schemas)
        case Iterated(rounds=None):
            return RepeatedRunner(workspace, operator, schemas)
        case Iterated():
            assert operator.rounds is not None  # noqa: S101 - the case before has the others
            return IteratedRunner(workspace, operator, operator.rounds, schemas)
        case _:
            raise InternalError(Diagnostic("UNKNOWN_OPERATOR", f"nothing runs a {type(operator).__name__}"))
