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


@pytest.mark.asyncio
async def test_everything_that_is_offered_is_answered(client: LanguageClient):
    offered = client.initialized_with.capabilities
    file = File(client, "start.md")
    await file.findings(lambda found: not found)
    document = types.TextDocumentIdentifier(uri=file.uri)
    target = os.environ["TRELLIS_TARGET"]
    place = file.at(f"to: {target}", 5)
    whole = types.Range(start=types.Position(line=0, character=0), end=types.Position(line=file.text.count("\n"), character=0))

    tokens = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(text_document=document))
    assert len(tokens.data) > 0 and len(tokens.data) % 5 == 0
    assert all(kind < len(offered.semantic_tokens_provider.legend.token_types) for kind in tokens.data[3::5])
    links = await client.text_document_document_link_async(types.DocumentLinkParams(text_document=document))
    assert any(link.target.endswith(f"/{target}.md") for link in links)
    ranges = await client.text_document_selection_range_async(
        types.SelectionRangeParams(text_document=document, positions=[place["position"]])
    )
    assert ranges[0].parent is not None
    items = await client.text_document_prepare_call_hierarchy_async(types.CallHierarchyPrepareParams(**place))
    assert [item.name for item in items] == [target]
    for _ in range(600):
        calls = await client.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(item=items[0]))
        if calls:
            break
        await asyncio.sleep(0.05)
    assert "start" in [call.from_.name for call in calls]
    assert not await client.text_document_inlay_hint_async(types.InlayHintParams(text_document=document, range=whole))
    assert not await client.text_document_code_lens_async(types.CodeLensParams(text_document=document))
    assert await client.text_document_folding_range_async(types.FoldingRangeParams(text_document=document))
    assert await client.text_document_document_symbol_async(types.DocumentSymbolParams(text_document=document))
    assert await client.text_document_references_async(
        types.ReferenceParams(**place, context=types.ReferenceContext(include_declaration=True))
    )
    assert await client.text_document_document_highlight_async(types.DocumentHighlightParams(**place))

    # A target that leads nowhere: the node can be added, where the editor makes files in edits.
    file.put(file.text.replace(f"to: {target}", "to: brand_new"))
    await file.findings(lambda found: any(one.code == "unknown-target" for one in found))
    at = file.at("brand_new", 1)["position"]
    here = types.CodeActionParams(
        text_document=document, range=types.Range(start=at, end=at), context=types.CodeActionContext(diagnostics=[])
    )
    if offered.code_action_provider is None:
        return
    titles = [action.title for action in await client.text_document_code_action_async(here)]
    assert ("add node `brand_new`" in titles) == makes_files(client), titles


def makes_files(client: LanguageClient) -> bool:
    edit = client_capabilities(client.editor).workspace.workspace_edit
    return bool(edit and edit.resource_operations and "create" in edit.resource_operations)
