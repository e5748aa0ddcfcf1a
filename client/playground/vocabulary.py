"""The server's own code for prompts and tokens, with a model's vocabulary alone: no weights are loaded.

The code stands in `container/`, beside this package and not in it; it is imported when a model's tokens are asked for.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from client.errors import Refused

if TYPE_CHECKING:
    from decision_server.engine import Vocabulary

_SERVER = Path(__file__).resolve().parents[2] / "container"


@dataclass(frozen=True, kw_only=True)
class OpenVocabulary:
    """sha256: of the weights that it belongs to, 64 hex. It lives as long as the process."""

    sha256: str
    vocabulary: Vocabulary


def open_vocabulary(model: Path) -> OpenVocabulary:
    """A GGUF, or a model folder with its manifest; verified as the server verifies it. Raises Refused."""
    if str(_SERVER) not in sys.path:
        sys.path.append(str(_SERVER))
    try:
        from decision_server import model_files
        from decision_server.engine import Vocabulary, library
        from decision_server.model_errors import EngineFailure, StartupFailure
    except ImportError as error:
        raise Refused(
            f"{model}: its tokens need the server's own code, and that cannot be imported: {error}. "
            "Remedy: run this in the whole project, with container/requirements.txt installed"
        ) from error
    try:
        files = model_files.find(model)
        api = library.load().api
        parameters = api.llama_model_default_params()
        parameters.vocab_only = True
        handle = api.llama_model_load_from_file(str(files.gguf.path).encode(), parameters)
        if not handle:
            raise Refused(f"{files.gguf.path}: llama.cpp cannot read its vocabulary; its log says why")
        return OpenVocabulary(sha256=files.gguf.sha256, vocabulary=Vocabulary(api, handle))
    except (StartupFailure, EngineFailure) as error:
        raise Refused(f"{model}: {error}") from error
