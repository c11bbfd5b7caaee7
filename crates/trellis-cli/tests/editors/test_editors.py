"""A foreign client decides: pytest-lsp talks to `trellis lsp` as VS Code, Neovim and Emacs, on a graph of this repository."""

import asyncio
import os
import pathlib
import shutil

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

GRAPH = pathlib.Path(os.environ["TRELLIS_GRAPH"])
EDITORS = ["visual_studio_code", "neovim", "emacs"]


@pytest_lsp.fixture(
    params=EDITORS,
    config=ClientServerConfig(server_command=[os.environ["TRELLIS"], "lsp", "--stdio"]),
)
async def client(request, lsp_client: LanguageClient, tmp_path):
    root = tmp_path / "support"
    shutil.copytree(GRAPH, root)
    lsp_client.root = root
    params = types.InitializeParams(
        capabilities=client_capabilities(request.param),
        workspace_folders=[types.WorkspaceFolder(uri=root.as_uri(), name="support")],
    )
    lsp_client.editor = request.param

    @lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams):
        return None

    lsp_client.initialized_with = await lsp_client.initialize_session(params)
    yield
    await lsp_client.shutdown_session()


class File:
    """A file that an editor has open."""

    def __init__(self, client: LanguageClient, path: str):
        self.client, self.version = client, 1
        self.uri = (client.root / path).as_uri()
        self.text = (client.root / path).read_text()
        item = types.TextDocumentItem(uri=self.uri, language_id="markdown", version=1, text=self.text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))

    def put(self, text: str):
        self.version += 1
        self.text = text
        change = types.TextDocumentContentChangeWholeDocument(text=text)
        document = types.VersionedTextDocumentIdentifier(uri=self.uri, version=self.version)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(text_document=document, content_changes=[change]))

    def at(self, needle: str, offset: int = 1):
        before = self.text[: self.text.index(needle) + offset]
        position = types.Position(line=before.count("\n"), character=len(before.rsplit("\n", 1)[-1]))
        return {"text_document": types.TextDocumentIdentifier(uri=self.uri), "position": position}

    async def findings(self, wanted):
        for _ in range(600):
            found = self.client.diagnostics.get(self.uri)
            if found is not None and wanted(found):
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(f"no such findings: {self.client.diagnostics.get(self.uri)}")


@pytest.mark.asyncio
async def test_a_file_is_edited(client: LanguageClient):
    offered = client.initialized_with.capabilities
    assert offered.position_encoding in ("utf-16", "utf-8")
    assert offered.diagnostic_provider is None, "findings are pushed, and shown once"
    file = File(client, "start.md")
    await file.findings(lambda found: not found)

    # A wrong target shows.
    right = file.text
    target = os.environ["TRELLIS_TARGET"]
    assert target in right
    file.put(right.replace(f"to: {target}", "to: nowhere_at_all"))
    found = await file.findings(lambda found: any(one.code == "unknown-target" for one in found))
    assert all(one.source == "trellis" for one in found)

    # Half a target is completed, where YAML does not parse.
    file.put(right.replace(f"to: {target}", f"to: [{target[:2]}"))
    await file.findings(lambda found: any(one.code == "yaml-syntax" for one in found))
    file.put(right.replace(f"to: {target}", "to: "))
    offers = await client.text_document_completion_async(types.CompletionParams(**file.at("to: \n", 4)))
    labels = [item.label for item in offers.items]
    assert target in labels and "rollback" in labels, labels

    # The target is followed.
    file.put(right)
    await file.findings(lambda found: not found)
    places = await client.text_document_definition_async(types.DefinitionParams(**file.at(f"to: {target}", 5)))
    assert [pathlib.Path(place.uri).name for place in places] == [f"{target}.md"]
    hover = await client.text_document_hover_async(types.HoverParams(**file.at(f"to: {target}", 5)))
    assert target in hover.contents.value

    # The node is renamed: its file moves, and everything that leads to it changes.
    rename = types.RenameParams(**file.at(f"to: {target}", 5), new_name="renamed")
    if client.editor == "emacs" and not moves_files(client):
        return
    edit = await client.text_document_rename_async(rename)
    moves = [change for change in edit.document_changes if isinstance(change, types.RenameFile)]
    assert [pathlib.Path(move.new_uri).name for move in moves] == ["renamed.md"]
    edits = [change for change in edit.document_changes if isinstance(change, types.TextDocumentEdit)]
    own = next(change for change in edits if change.text_document.uri == file.uri)
    assert [one.new_text for one in own.edits] == ["renamed"] * right.count(target) or own.edits[0].new_text == "renamed"
    symbols = await client.workspace_symbol_async(types.WorkspaceSymbolParams(query=target))
    assert any(symbol.name == target for symbol in symbols)


def moves_files(client: LanguageClient) -> bool:
    edit = client_capabilities(client.editor).workspace.workspace_edit
    return bool(edit and edit.resource_operations and "rename" in edit.resource_operations)
