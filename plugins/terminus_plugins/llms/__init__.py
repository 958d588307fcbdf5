"""Ways to ask a model: ``litellm`` for any provider, ``scripted`` for demos, tests and replays."""
