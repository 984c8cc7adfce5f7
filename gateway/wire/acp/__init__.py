"""The Agent Client Protocol (https://agentclientprotocol.com), client side: what an agent sends → what AG-UI shows.

In: ACP's JSON objects, and a run's input. Out: events, and params for the agent. Never: IO; `drivers.acp` reads and
writes the lines. The names to know: `SessionReader` (`session`), `Handshake` (`initialize`), `SessionState`
(`session_state`), `prompt_blocks` (`prompt`), `agent_fault` (`errors`).

- `initialize`: what the gateway offers, and what the agent answers.
- `prompt`, `content`: a run's input → the blocks of a prompt.
- `session` (`updates`, `subagents`, `messages`, `tool_calls`, `arguments`, `results`, `terminals`, `plans`, `notices`,
  `usage`, `replay`, `client_tools`, `fast_path`): a session's updates → events.
- `session_state`, `config_requests`: modes, models, options, commands of a session, and the requests that set them.
- `permissions`: permissions and elicitations ↔ interrupts and answers.
- `errors`: JSON-RPC errors → `AgentFault`.
- `methods`: params of methods that a client calls through the gateway.

The mapping, by what the agent sends. The id of a tool call or a message is `{turn}:{the agent's}`, that of a subagent
`{turn}/{number}`, because agents repeat their ids in later turns.

| ACP | AG-UI | how |
|---|---|---|
| `agent_message_chunk` | `TEXT_MESSAGE_*` | one message per `messageId`; below a tool's result always a new one |
| `agent_thought_chunk` | `REASONING_*` | a message of its own, also where the agent gives it the answer's id |
| `user_message_chunk` | nothing | the client has its user's messages; in a replay they are history |
| `agent_message` | `TEXT_MESSAGE_*` | version 2: what is new of it; another text is a new message that `replaces` |
| `agent_thought` | `REASONING_*` | version 2, likewise |
| `user_message` | nothing | version 2, as above |
| image or audio | `ACTIVITY_SNAPSHOT` | type `content`; links and embedded text become part of the text |
| `tool_call` | `TOOL_CALL_START` | name: `name`, a vendor's, or the kind; the title goes to `metadata.acp` |
| `rawInput` | `TOOL_CALL_ARGS` `TOOL_CALL_END` | streamed while it grows, complete when it runs or needs permission |
| `status` completed | `TOOL_CALL_RESULT` | text, short diffs, parts; whole diffs and raw output in `metadata.acp` |
| `status` failed | `TOOL_CALL_RESULT` | likewise |
| `tool_call_update` | `CUSTOM acp.tool_call` | when only its display fields have changed |
| `content` in progress | `ACTIVITY_*` | type `tool_output`: `output` grows by pieces |
| `tool_call_content_chunk` | `ACTIVITY_*` | version 2, likewise |
| `_meta.terminal_output` | `ACTIVITY_*` | type `terminal`; with `terminal_info`, `_output_delta`, `_exit` |
| `terminal_update` | `ACTIVITY_*` | version 2, likewise |
| `terminal_output_chunk` | `ACTIVITY_*` | version 2, likewise |
| `plan` | `ACTIVITY_*` | type `plan`: once in a turn, then patched |
| `plan_update` | `ACTIVITY_*` | one activity per `planId` |
| `plan_removed` | `ACTIVITY_*` | `removed: true`, because AG-UI cannot remove an activity |
| `available_commands_update` | `CUSTOM session.commands` | when it changes; also in the session's capability layer |
| `current_mode_update` | `CUSTOM session.mode` | likewise |
| `config_option_update` | `CUSTOM session.config` | likewise |
| `session_info_update` | `CUSTOM session.info` | likewise |
| `usage_update` | `CUSTOM session.usage` | likewise: context used, its size, cost so far |
| `notice` | `CUSTOM acp.notice` | |
| `compaction_update` | `CUSTOM acp.compaction` | |
| `compaction_summary_chunk` | `CUSTOM acp.compaction` | with `delta` |
| `subagent_update` | `SUBAGENT_STARTED` `SUBAGENT_FINISHED` | running to idle; events of the child session are tagged |
| `subagent_update` error | `SUBAGENT_STARTED` `SUBAGENT_ERROR` | |
| `session_message` | `CUSTOM acp.session_message` | in the child's own session: text, tagged |
| `session_message_chunk` | `CUSTOM acp.session_message` | likewise, with `delta` |
| `state_update` | `RUN_FINISHED` | version 2: an idle state ends the turn |
| any other update | `RAW` | source `acp`, without `_meta` |
| `session/request_permission` | `RUN_FINISHED interrupt` | reason `tool_call`; the options in `responseSchema` |
| `elicitation/create` | `RUN_FINISHED interrupt` | reason `input_required`; a form's schema is `responseSchema` |
| `end_turn` | `RUN_FINISHED` | open calls get a result that says so |
| `end_turn` and no output | `CUSTOM gateway.warning` `RUN_FINISHED` | `EMPTY_TURN`: perhaps a swallowed failure |
| `cancelled` | `RUN_FINISHED cancelled` | also when the gateway asked for it and the agent reports another reason |
| `max_tokens` | `RUN_FINISHED` | in `result.stopReason` |
| `max_turn_requests` | `RUN_FINISHED` | in `result.stopReason` |
| `refusal` | `RUN_FINISHED` | in `result.stopReason` |
| error answer | `RUN_ERROR` | its code and the agent's text; after a cancel it counts as `cancelled` |

`_meta` never reaches a client: only names of tools, terminals, the calling tool and token counts are read from it.
"""
