"""The runner for each class of operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, assert_never, cast

from penstock.backends.spark.operators.additive import AdditiveRunner
from penstock.backends.spark.operators.best import BestRunner, only_pushed_back
from penstock.backends.spark.operators.counted import CountedRunner
from penstock.backends.spark.operators.iterated import IteratedRunner
from penstock.backends.spark.operators.join import BilinearRunner
from penstock.backends.spark.operators.keyed import KeyedRunner
from penstock.backends.spark.operators.linear import ClockedRunner, ConstantRunner, LinearRunner
from penstock.backends.spark.operators.matching import MatchingRunner
from penstock.backends.spark.operators.ranked import RankedRunner
from penstock.backends.spark.operators.recomputed import RecomputedRunner, RepeatedRunner
from penstock.backends.spark.operators.runner import SparkRunner
from penstock.backends.spark.operators.sessions import SessionsRunner
from penstock.backends.spark.workspace import Workspace
from penstock.circuit.operators import (
    Additive,
    AnyOperator,
    Arrived,
    Arriving,
    Bilinear,
    Cleaned,
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
    Source,
)
from penstock.errors import Diagnostic, InternalError
from penstock.plan.nodes import MatchRecognize

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def make_runner(
    workspace: Workspace, operator: Operator, schemas: Sequence[StructType], output: Callable[[], StructType]
) -> SparkRunner:
    """A runner without state; `schemas` are those of the inputs' changes, `output` that of its own, `__weight` last."""
    found = cast("AnyOperator", operator)
    match found:
        case Constant():
            return ConstantRunner(workspace, found)
        case Linear():
            return LinearRunner(workspace, found, output(), schemas)
        case Clocked():
            return ClockedRunner(workspace, found, output(), schemas)
        case Bilinear():
            return BilinearRunner(workspace, found, schemas[0], schemas[1])
        case Additive():
            return AdditiveRunner(workspace, found, schemas[0])
        case Counted():
            return CountedRunner(workspace, found, schemas)
        case Keyed() if only_pushed_back(found):
            return BestRunner(workspace, found, schemas, output)
        case Keyed(node=MatchRecognize()):
            return MatchingRunner(workspace, found, schemas, output)
        case Keyed():
            return KeyedRunner(workspace, found, schemas, output)
        case Sessions():
            return SessionsRunner(workspace, found, schemas[0], output)
        case Ranked():
            return RankedRunner(workspace, found, schemas[0])
        case Recomputed():
            return RecomputedRunner(workspace, found, schemas)
        case Iterated(rounds=None):
            return RepeatedRunner(workspace, found, schemas)
        case Iterated():
            assert found.rounds is not None  # noqa: S101 - the case before has the others
            return IteratedRunner(workspace, found, found.rounds, schemas, make_runner)
        case Source() | Cleaned() | Arriving() | Arrived():  # the engine feeds the one, and knows the gate of the other
            raise InternalError(Diagnostic("UNKNOWN_OPERATOR", f"the engine itself runs a {type(found).__name__}"))
        case _:
            assert_never(found)
