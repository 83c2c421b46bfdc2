"""Functions that a view cannot contain: their answer is another one each time, or depends on who asks."""

from __future__ import annotations

from sqlglot import exp

from penstock.catalog.functions import built_in
from penstock.catalog.model import Catalog
from penstock.sql.complaints import wrong
from penstock.sql.trees import call_name, placed_at

_HINTS = {
    "rand": "take a hash of the key instead, such as xxhash64(id)",
    "uuid": "take a hash of the key instead, such as sha2(cast(id AS STRING), 256)",
    "aes_encrypt": "give it an initialisation vector of your own as fifth argument, or encrypt with mode 'ECB'",
    "monotonically_increasing_id": "take ROW_NUMBER() OVER (ORDER BY …) or the table's key",
}


def refuse_impure(tree: exp.Expression, catalog: Catalog, what: str) -> None:
    """Raise SqlError if a function in the tree, or in a function of the program that it calls, is not deterministic."""
    for node in tree.find_all(exp.Anonymous):
        name = call_name(node) or ""
        own = catalog.functions.get(name)
        if own is not None:
            refuse_impure(placed_at(own.body, node), catalog, what)  # its text may be another one
            continue
        if is_impure(node):
            message = f"{what} cannot use {name}(): its answer is not decided by the tables' contents"
            hint = _HINTS.get(name, "compute the value outside and put it into a column of a table")
            raise wrong(code="NON_DETERMINISTIC", message=message, place=node, hint=hint)


def any_impure(tree: exp.Expression) -> bool:
    """True if a function of Spark's in the tree gives what its arguments do not decide."""
    return any(is_impure(node) for node in tree.find_all(exp.Anonymous))


def is_impure(call: exp.Anonymous) -> bool:
    """True for a call of a function of Spark's whose answer its arguments do not decide."""
    found = built_in(call_name(call) or "")
    return found is not None and (not found.deterministic or _draws_a_vector(call))


def _draws_a_vector(node: exp.Anonymous) -> bool:
    """True for a call that encrypts with a random initialisation vector, though Spark calls it deterministic."""
    arguments = node.expressions
    if call_name(node) != "aes_encrypt" or len(arguments) > 4:  # noqa: PLR2004 - the vector is 5th
        return False
    mode = arguments[2] if len(arguments) > 2 else None  # noqa: PLR2004 - the mode is the third
    return not (isinstance(mode, exp.Literal) and str(mode.this).upper() == "ECB")
