"""The only importer of llama_cpp: library, vocabulary, one sequence of computed tokens, kept prefixes, self-check.

`LlamaEngine` is the door: it implements `scoring.ScoringEngine` and lends a `Vocabulary` that request threads may use.
"""

from decision_server.engine.chat_context import ChatContext
from decision_server.engine.llama_engine import LlamaEngine
from decision_server.engine.loading import open_model, prove
from decision_server.engine.vocabulary import SpecialToken, Vocabulary

__all__ = ["ChatContext", "LlamaEngine", "SpecialToken", "Vocabulary", "open_model", "prove"]
