"""Claude's `AskUserQuestion` ↔ a form.

In: the tool's questions, and what the human filled in. Out: a schema with a field for each question, beside it one for
an answer of one's own, as Claude promises its model; and the answers by the questions' texts, as the tool wants them.
"""

from __future__ import annotations

from typing import Any

from gateway.wire.fields import items, non_empty, present, text


def form(asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The message, and the schema of the answer."""
    properties: dict[str, Any] = {}
    questions = items(asked.get("questions"))
    for number, one in enumerate(questions):
        properties[f"question_{number}"] = _field(one)
        about = "Another answer than those, or a further one."
        properties[f"question_{number}_custom"] = {"type": "string", "title": "Other", "description": about}
    message = "\n".join(words for one in questions if (words := text(one.get("question"))))
    return message or "The agent asks for input.", {"type": "object", "properties": properties}


def _field(one: dict[str, Any]) -> dict[str, Any]:
    about = present({"title": text(one.get("header")), "description": text(one.get("question"))})
    options = [
        present({"const": label, "title": label, "description": text(option.get("description"))})
        for option in items(one.get("options"))
        if (label := non_empty(option.get("label"))) is not None
    ]
    choice = {"type": "string", "oneOf": options} if options else {"type": "string"}
    if one.get("multiSelect") is True:
        return {"type": "array", "items": choice, "uniqueItems": True, **about}
    return {**choice, **about}


def form_answers(asked: dict[str, Any], filled: dict[str, Any]) -> dict[str, str]:
    """Question → answer; what was left empty is left out."""
    found: dict[str, str] = {}
    for number, one in enumerate(items(asked.get("questions"))):
        chosen, own = filled.get(f"question_{number}"), non_empty(filled.get(f"question_{number}_custom"))
        listed = chosen if isinstance(chosen, list) else [chosen]
        words = [*(label for label in listed if isinstance(label, str) and label), *([own] if own else [])]
        if words and (name := text(one.get("question"))) is not None:
            found[name] = ", ".join(words)
    return found
