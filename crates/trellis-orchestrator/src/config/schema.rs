//! The JSON Schema of the settings.

use serde_json::{Value as Json, json};

use super::{Provider, Settings, hands, models, reactions, tools};

/// The JSON Schema of the file, for editors.
pub fn schema() -> Json {
    let defaults = Settings::default();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "The settings of a workspace of trellis up",
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": {
            "locale": { "description": "The language of the fixed texts", "enum": ["en", "ko"], "default": "en" },
            "agent": {
                "type": ["object", "null"],
                "additionalProperties": false,
                "properties": {
                    "name": { "description": "agents/NAME.md says who the agent is", "type": "string", "pattern": "^[\\p{L}\\p{N}_-]{1,64}$", "default": defaults.agent },
                    "aliases": { "description": "Names by which the agent is also called where several people talk", "type": "array", "items": { "type": "string" } },
                    "auto_reply": { "description": "Whether it answers everything there", "type": "boolean", "default": false },
                    "runs": { "description": "Runs at once, over all chats", "type": "integer", "minimum": 1, "maximum": 1000, "default": defaults.runs }
                }
            },
            "channels": {
                "type": ["object", "null"],
                "description": "The channels that are used; without it, the terminal and the browser",
                "additionalProperties": false,
                "properties": {
                    "terminal": { "description": "A chat in this terminal", "type": ["object", "null"], "additionalProperties": false },
                    "web": { "description": "A chat in the browser", "type": ["object", "null"], "additionalProperties": false },
                    "slack": remote(Provider::Slack),
                    "telegram": remote(Provider::Telegram),
                    "discord": remote(Provider::Discord)
                }
            },
            "approvers": {
                "description": "Those who may approve calls, as PROVIDER:USER; the terminal always may, and in the browser who has the right `approve`",
                "type": "array",
                "items": { "type": "string", "pattern": "^(slack|telegram|discord):[^*]" }
            },
            "providers": models::providers_schema(),
            "roles": models::roles_schema(),
            "reactions": reactions::reactions_schema(),
            "tools": tools::tools_schema(),
            "heartbeat": hands::heartbeat_schema(),
            "limits": {
                "type": ["object", "null"],
                "additionalProperties": false,
                "properties": {
                    "attachment": { "description": "Bytes of a file that somebody sends, at most 100MiB", "type": "string", "pattern": "^[0-9]+ ?(B|KiB|MiB)$", "default": "20MiB" },
                    "context_tokens": { "description": "Tokens of the messages for the model, three bytes each", "type": "integer", "minimum": 1000, "maximum": 10_000_000, "default": defaults.context_tokens },
                    "delivery": { "description": "The time for which a message waits for a channel that fails", "type": "string", "pattern": "^[0-9]+(ms|s|m|h)$", "default": "24h" },
                    "approval": { "description": "The time for which a held call waits for a decision", "type": "string", "pattern": "^[0-9]+(ms|s|m|h)$", "default": "1h" }
                }
            }
        }
    })
}

/// A channel over a network.
fn remote(provider: Provider) -> Json {
    let one = |key: &str, description: &str| {
        let name = json!({ "description": description, "type": "string", "minLength": 1 });
        json!({ "type": "object", "additionalProperties": false, "required": [key], "properties": { key: name } })
    };
    let ids = |description: &str| {
        let item = json!({ "type": ["string", "integer"] });
        json!({ "description": description, "type": "array", "minItems": 1, "items": item })
    };
    let mut schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["token", "allow"],
        "properties": {
            "token": { "description": "Where the token is kept", "oneOf": [one("env", "A variable"), one("secret", "A secret of the vault")] },
            "allow": ids("The chats and people that are heard; \"*\" is everybody"),
            "base_url": { "description": "Where the interface is", "type": "string", "pattern": "^https?://", "default": provider.base_url() },
            "poll": { "description": "The time between two reads", "type": "string", "pattern": "^[0-9]+(ms|s|m|h)$", "default": "2s" },
            "rows": { "description": "Messages of one answer", "type": "integer", "minimum": 1, "maximum": provider.most_rows(), "default": 30 }
        }
    });
    if provider != Provider::Telegram {
        schema["properties"]["read"] = ids("The chats that are read");
        schema["required"] = json!(["token", "allow", "read"]);
    }
    schema
}
