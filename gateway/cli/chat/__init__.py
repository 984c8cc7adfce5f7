"""A conversation with an agent in the terminal, for `agui-gateway run`.

In: a prompt and options. Out: runs over HTTP, the user's answers to interrupts, an exit code. The names to know:
`conversation.Conversation`, `client.GatewayClient`, `prompts.InterruptPrompter`, `embedded_gateway.embedded_gateway`.
"""
