"""The operator in DuckDB for each class, where all of it is proven."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import assert_never, cast

from penstock.backends.native.operators.additive import AdditiveOperator
from penstock.backends.native.operators.answered import AnsweredOperator
from penstock.backends.native.operators.asof import AsofOperator
from penstock.backends.native.operators.best import BestOperator
from penstock.backends.native.operators.clocked import ClockedOperator
from penstock.backends.native.operators.counted import CountedOperator
from penstock.backends.native.operators.join import JoinOperator
from penstock.backends.native.operators.keyed import KeyedOperator
from penstock.backends.native.operators.linear import ConstantOperator, LinearOperator
from penstock.backends.native.operators.matching import MatchingOperator
from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.native.operators.recomputed import RecomputedOperator
from penstock.backends.native.operators.reduced import ReducedOperator, is_reducible
from penstock.backends.native.operators.sessions import SessionsOperator
from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns
from penstock.backends.native.typing import completed, require_types
from penstock.catalog.types import FRACTIONAL
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
from penstock.plan import nodes
from penstock.plan.nodes import (
    Aggregate,
    AsofJoin,
    Distinct,
    Filter,
    Fixpoint,
    Generate,
    Join,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar, column


def native_operator(store: Store, operator: Operator, known: Mapping[str, Columns]) -> NativeOperator:
    """An operator without state; NotProvenError, with what is not, if it is left to Spark.

    `known` has the columns of its inputs, by the names of the leaves that read them, where they are known better than
    by the operator's node.
    """
    found = cast("AnyOperator", replace(operator, node=completed(operator.node, known)))
    require_types(found.node)
    match found:
        case Constant():
            return ConstantOperator(store, found)
        case Linear():
            return LinearOperator(store, found)
        case Clocked():
            return ClockedOperator(store, found)
        case Bilinear():
            return JoinOperator(store, found)
        case Additive():
            return AdditiveOperator(store, found)
        case Counted():
            return CountedOperator(store, found)
        case Keyed():
            return _keyed(store, found)
        case Sessions():
            return SessionsOperator(store, found)
        case Ranked():
            if found.append_only and _is_best(found.node):
                return BestOperator(store, found)
            return AnsweredOperator(store, found, (), (), append_only=found.append_only)
        case Recomputed():
            return RecomputedOperator(store, found)
        case Iterated():
            raise NotProvenError(what="recursion")
        case Source() | Cleaned() | Arriving() | Arrived():
            raise NotProvenError(what=f"{type(found).__name__}, which belongs to the step")
        case _:
            assert_never(found)


def _keyed(store: Store, operator: Keyed) -> NativeOperator:
    node = cast("Node", operator.node)
    match node:
        case Aggregate():
            groups = tuple(column(name, scalar.type) for name, scalar in node.groups) if operator.keys[0] else ()
            return _aggregate(store, operator, node, groups)
        case TopK() if operator.append_only[0] and _is_best(node):
            return BestOperator(store, operator)
        case TopK(limit=int()):
            return _answered(store, operator, node.partition)
        case Window() if any(item.type in (*FRACTIONAL, None) for item in node.fields[len(node.input.fields) :]):
            if any(item.keep for item in operator.expiries) or isinstance(node.input, Window):
                raise NotProvenError(what="window functions in floating point whose rows are forgotten one by one")
            return _answered(store, operator, node.partition)
        case AsofJoin() if node.keys and node.match.backwards:
            return AsofOperator(store, operator)
        case MatchRecognize():
            return MatchingOperator(store, operator, node)
        case Scan() | Values() | Project() | Filter() | UnionAll() | Generate() | Join() | AsofJoin() | Distinct():
            return KeyedOperator(store, operator)
        case (
            SetOperation()
            | TopK()
            | Window()
            | Session()
            | Recompute()
            | Fixpoint()
            | nodes.Arriving()
            | nodes.Arrived()
        ):
            return KeyedOperator(store, operator)
        case _:
            assert_never(node)


def _aggregate(store: Store, operator: Keyed, node: Aggregate, groups: tuple[Scalar, ...]) -> NativeOperator:
    if is_reducible(node) and not operator.append_only[0]:
        with suppress(NotProvenError):
            return ReducedOperator(store, operator, groups)
    return _answered(store, operator, groups)


def _answered(store: Store, operator: Keyed, answer_keys: tuple[Scalar, ...]) -> AnsweredOperator:
    return AnsweredOperator(store, operator, operator.keys[0], answer_keys, append_only=operator.append_only[0])


def _is_best(node: Plan) -> bool:
    """True for a Top-K whose answers say all of an append-only input that can ever matter."""
    match node:
        case TopK(input=Scan(), limit=int(), offset=0, ties=None):
            return True
        case _:
            return False
