"""The Agent Client Protocol, client side, as a mapping: what an agent says in ACP → what a client sees in AG-UI.

Pure: objects in, events and objects out. `drivers` reads and writes the lines. The way through the files:

- `offer`, `handshake`: what we say in `initialize`, and what the agent's answer tells of it.
- `prompt`, `content`: a run's input → the blocks of a prompt, by what the agent takes.
- `session` (`updates`, `lanes`, `messages`, `tools`, `arguments`, `results`, `terminals`, `plans`, `asides`, `usage`,
  `replay`): a session's updates → events.
- `facts`, `setting`: modes, models, options, commands of a session, and the requests that change them.
- `asking`: permissions and elicitations ↔ questions and answers.
- `faults`: error answers → `AgentFault`.

The mapping, by what comes from the agent. Ids: a tool call's or a message's is `{turn}:{the agent's}`, a subagent's
`{turn}/{number}`, for agents repeat theirs in later turns.

| ACP | AG-UI | how |
|---|---|---|
| `agent_message_chunk` | `TEXT_MESSAGE_*` | one message per `messageId`; below a tool's result always a new one |
| `agent_thought_chunk` | `REASONING_*` | a message of its own, also where the agent gives it the answer's id |
| `user_message_chunk` | nothing | the client has its own words; in a replay they are history |
| `agent_message` | `TEXT_MESSAGE_*` | version 2: what is new of it; another text is a new message that `replaces` |
| `agent_thought` | `REASONING_*` | version 2, likewise |
| `user_message` | nothing | version 2, as above |
| image or audio | `ACTIVITY_SNAPSHOT` | type `content`; links and embedded text become part of the text |
| `tool_call` | `TOOL_CALL_START` | name: `name`, a vendor's, or the kind; the title goes to `metadata.acp` |
| `rawInput` | `TOOL_CALL_ARGS` `TOOL_CALL_END` | streamed while it grows, complete when it runs or is asked about |
| `status` completed | `TOOL_CALL_RESULT` | text, short diffs, parts; whole diffs and raw output in `metadata.acp` |
| `status` failed | `TOOL_CALL_RESULT` | likewise |
| `tool_call_update` | `CUSTOM acp.tool_call` | when only what shows of the call has changed |
| `content` in progress | `ACTIVITY_*` | type `tool_output`: `output` grows by pieces |
| `tool_call_content_chunk` | `ACTIVITY_*` | version 2, likewise |
| `_meta.terminal_output` | `ACTIVITY_*` | type `terminal`; with `terminal_info`, `_output_delta`, `_exit` |
| `terminal_update` | `ACTIVITY_*` | version 2, likewise |
| `terminal_output_chunk` | `ACTIVITY_*` | version 2, likewise |
| `plan` | `ACTIVITY_*` | type `plan`: once in a turn, then patched |
| `plan_update` | `ACTIVITY_*` | one activity per `planId` |
| `plan_removed` | `ACTIVITY_*` | `removed: true`, for AG-UI takes no activity away |
| `available_commands_update` | `CUSTOM session.commands` | and a fact of the session; told when it changes |
| `current_mode_update` | `CUSTOM session.mode` | likewise |
| `config_option_update` | `CUSTOM session.config` | likewise |
| `session_info_update` | `CUSTOM session.info` | likewise |
| `usage_update` | `CUSTOM session.usage` | likewise: context used, its size, cost so far |
| `notice` | `CUSTOM acp.notice` | |
| `compaction_update` | `CUSTOM acp.compaction` | |
| `compaction_summary_chunk` | `CUSTOM acp.compaction` | with `delta` |
| `subagent_update` | `SUBAGENT_STARTED` `SUBAGENT_FINISHED` | running to idle; what the child session says is tagged |
| `subagent_update` error | `SUBAGENT_STARTED` `SUBAGENT_ERROR` | |
| `session_message` | `CUSTOM acp.session_message` | in the child's own session: text, tagged |
| `session_message_chunk` | `CUSTOM acp.session_message` | likewise, with `delta` |
| `state_update` | `RUN_FINISHED` | version 2: an idle state ends the turn |
| any other update | `RAW` | source `acp`, without `_meta` |
| `session/request_permission` | `RUN_FINISHED interrupt` | reason `tool_call`; the options in `responseSchema` |
| `elicitation/create` | `RUN_FINISHED interrupt` | reason `input_required`; a form's schema is `responseSchema` |
| `end_turn` | `RUN_FINISHED` | calls still open get a result that says so |
| `end_turn` and no output | `CUSTOM gateway.warning` `RUN_FINISHED` | `EMPTY_TURN`: perhaps a swallowed failure |
| `cancelled` | `RUN_FINISHED cancelled` | also when we asked for it and the agent calls it otherwise |
| `max_tokens` | `RUN_FINISHED` | in `result.stopReason` |
| `max_turn_requests` | `RUN_FINISHED` | in `result.stopReason` |
| `refusal` | `RUN_FINISHED` | in `result.stopReason` |
| error answer | `RUN_ERROR` | its code and the agent's words; after a cancel it counts as `cancelled` |

`_meta` never leaves the house: of it only names of tools, terminals, the calling tool and token counts are read.
"""
