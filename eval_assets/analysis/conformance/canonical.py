"""Cases that any chat model with tools can be asked, whoever provides it, and that a fit one passes."""

from __future__ import annotations

from typing import Any

from eval_assets.model.cases import Case, Expect

_WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Look up the current weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "The name of the city."}},
            "required": ["city"],
        },
    },
}


def canonical_cases() -> tuple[Case, ...]:
    """A greeting, a deterministic answer, a tool call with valid arguments, and no call where none is wanted."""
    return (
        Case(
            name="greeting",
            input="Please say hello in one short sentence.",
            expect=Expect(non_empty_content=True),
        ),
        Case(
            name="deterministic_answer",
            input="What is 2 + 2? Reply with the digit only.",
            expect=Expect(non_empty_content=True, contains=("4",)),
        ),
        Case(
            name="tool_call",
            input="What is the weather in Paris right now? Look it up with the tool.",
            tools=(_WEATHER,),
            expect=Expect(tool_name="get_weather", required_args=("city",)),
        ),
        Case(
            name="no_tool_call",
            input="Which word is the opposite of 'hot'? Reply with that word only.",
            tools=(_WEATHER,),
            expect=Expect(non_empty_content=True, no_tool_call=True),
        ),
    )
