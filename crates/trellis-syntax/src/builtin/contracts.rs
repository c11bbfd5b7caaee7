//! Contracts that hold where bindings write none (language 9.18, 9.24): with them, a check can prove the calls of builtins.

use trellis_base::{language::Effect, schema::disjoint::disjoint, value::Value};

/// A builtin tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct BuiltinTool {
    /// Its name, as `builtin:` has it.
    pub name: &'static str,
    /// The keys that are allowed beside `builtin:`.
    pub config: &'static [&'static str],
    /// Its effect on the world; `sql.query` with `write: true` is irreversible.
    pub effect: Effect,
    parameters: &'static str,
    returns: &'static str,
}

impl BuiltinTool {
    /// Finds a builtin by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        BUILTINS.iter().find(|builtin| builtin.name == name)
    }

    /// Returns the JSON Schema of its arguments; `None` if any are taken.
    pub fn parameters(&self) -> Option<Value> {
        Value::from_json(self.parameters).ok()
    }

    /// Returns the JSON Schema of its results; `None` if nothing is known of them.
    pub fn returns(&self) -> Option<Value> {
        Value::from_json(self.returns).ok()
    }

    /// Returns why no call fits both its contract and arguments of this schema; `None` if some may.
    pub fn cannot_take(&self, parameters: &Value) -> Option<String> {
        disjoint(&self.parameters()?, parameters)
    }

    /// Returns why no result fits both its contract and this schema; `None` if some may.
    pub fn cannot_return(&self, returns: &Value) -> Option<String> {
        disjoint(&self.returns()?, returns)
    }
}

/// The empty contract, which declares nothing.
const EMPTY_CONTRACT: &str = "";

const VALUES: [&str; 2] = ["space", "store"];
const SKILLS: [&str; 4] = ["folder", "workspace", "allow", "block"];
const SKILLS_SEARCH: [&str; 5] = ["folder", "workspace", "allow", "block", "least"];

const VERSION: &str = r#"{"type":"object","required":["version"],"properties":{"version":{"type":"integer","minimum":0}}}"#;

/// All builtins, in the order of the reference.
pub static BUILTINS: [BuiltinTool; 16] = [
    BuiltinTool {
        name: "math.evaluate",
        config: &[],
        effect: Effect::None,
        parameters: r#"{"type":"object","required":["expression"],"additionalProperties":false,"properties":{"expression":{"type":"string","maxLength":4096}}}"#,
        returns: r#"{"type":"number"}"#,
    },
    BuiltinTool {
        name: "json.parse",
        config: &[],
        effect: Effect::None,
        parameters: r#"{"type":"object","required":["text"],"additionalProperties":false,"properties":{"text":{"type":"string"}}}"#,
        returns: EMPTY_CONTRACT,
    },
    BuiltinTool {
        name: "json.merge",
        config: &[],
        effect: Effect::None,
        parameters: r#"{"type":"object","required":["parts"],"additionalProperties":false,"properties":{"parts":{"type":"array","items":{"type":["object","null"]}}}}"#,
        returns: r#"{"type":"object"}"#,
    },
    BuiltinTool {
        name: "documents.search",
        config: &["folder", "files"],
        effect: Effect::None,
        parameters: r#"{"type":"object","required":["query"],"additionalProperties":false,"properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1}}}"#,
        returns: r#"{"type":"object","required":["hits"],"properties":{"hits":{"type":"array","items":{"type":"object","required":["path","title","score","snippet"],"properties":{"path":{"type":"string"},"title":{"type":"string"},"score":{"type":"number"},"snippet":{"type":"string"}}}}}}"#,
    },
    BuiltinTool {
        name: "documents.read",
        config: &["folder"],
        effect: Effect::None,
        parameters: r#"{"type":"object","required":["path"],"additionalProperties":false,"properties":{"path":{"type":"string"}}}"#,
        returns: r#"{"type":"object","required":["path","title","text"],"properties":{"path":{"type":"string"},"title":{"type":"string"},"text":{"type":"string"}}}"#,
    },
    BuiltinTool {
        name: "sql.query",
        config: &["database", "init", "sql", "write", "one"],
        effect: Effect::None,
        parameters: EMPTY_CONTRACT,
        returns: EMPTY_CONTRACT,
    },
    BuiltinTool {
        name: "values.get",
        config: &["space", "store", "default"],
        effect: Effect::None,
        parameters: r#"{"type":"object","required":["key"],"additionalProperties":false,"properties":{"key":{"type":"string"}}}"#,
        returns: r#"{"type":"object","required":["value","version"],"properties":{"value":{},"version":{"type":"integer","minimum":0}}}"#,
    },
    BuiltinTool {
        name: "values.put",
        config: &VALUES,
        effect: Effect::Irreversible,
        parameters: r#"{"type":"object","required":["key","value"],"additionalProperties":false,"properties":{"key":{"type":"string"},"value":{},"expected":{"type":"integer","minimum":0},"ttl":{"type":"string"}}}"#,
        returns: VERSION,
    },
    BuiltinTool {
        name: "values.append",
        config: &VALUES,
        effect: Effect::Irreversible,
        parameters: r#"{"type":"object","required":["key","item"],"additionalProperties":false,"properties":{"key":{"type":"string"},"item":{},"keep":{"type":"integer","minimum":1},"ttl":{"type":"string"}}}"#,
        returns: VERSION,
    },
    BuiltinTool {
        name: "values.delete",
        config: &VALUES,
        effect: Effect::Irreversible,
        parameters: r#"{"type":"object","required":["key"],"additionalProperties":false,"properties":{"key":{"type":"string"},"expected":{"type":"integer","minimum":0}}}"#,
        returns: VERSION,
    },
    BuiltinTool {
        name: "skills.search",
        config: &SKILLS_SEARCH,
        effect: Effect::None,
        parameters: r#"{"type":"object","required":["query"],"additionalProperties":false,"properties":{"query":{"type":"string"},"top_k":{"type":"integer","minimum":1}}}"#,
        returns: r#"{"type":"object","required":["candidates"],"properties":{"candidates":{"type":"array","items":{"type":"object","required":["skill_id","title","score_hint","tags","reason"],"properties":{"skill_id":{"type":"string"},"title":{"type":"string"},"score_hint":{"type":"number"},"tags":{"type":"array","items":{"type":"string"}},"reason":{"type":"string"}}}}}}"#,
    },
    BuiltinTool {
        name: "skills.card",
        config: &SKILLS,
        effect: Effect::None,
        parameters: r#"{"type":"object","required":["skill_id"],"additionalProperties":false,"properties":{"skill_id":{"type":"string"}}}"#,
        returns: r#"{"type":"object","required":["skill_id","title","tags","dry_run_supported","backup","run","timeout","text"],"properties":{"skill_id":{"type":"string"},"title":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"args":{},"required_inputs":{},"dry_run_supported":{"type":"boolean"},"rollback":{"type":"string"},"risk":{"type":"number","minimum":0,"maximum":100},"backup":{"type":"array","items":{"type":"string"}},"check":{"type":"array","items":{"type":"string"}},"run":{"type":"array","items":{"type":"string"}},"dry_run":{"type":"array","items":{"type":"string"}},"verify":{"type":"array","items":{"type":"string"}},"timeout":{"type":"string"},"text":{"type":"string"}}}"#,
    },
    BuiltinTool {
        name: "skills.check",
        config: &SKILLS,
        effect: Effect::None,
        parameters: r#"{"type":"object","required":["skill_id"],"additionalProperties":false,"properties":{"skill_id":{"type":"string"},"args":{"type":"object"}}}"#,
        returns: r#"{"type":"object","required":["valid","problems"],"properties":{"valid":{"type":"boolean"},"problems":{"type":"array","items":{"type":"string"}},"code":{"enum":["not_found","blocked","inputs","check_failed","execution_failed","verify_failed","timed_out","restore_failed"]}}}"#,
    },
    BuiltinTool {
        name: "skills.execute",
        config: &SKILLS,
        effect: Effect::Irreversible,
        parameters: r#"{"type":"object","required":["skill_id","mode"],"additionalProperties":false,"properties":{"skill_id":{"type":["string","null"]},"mode":{"enum":["dry_run","execute"]},"args":{"type":"object"},"timeout":{"type":"number","exclusiveMinimum":0}}}"#,
        returns: r#"{"type":"object","required":["ok","summary","execution_time"],"properties":{"ok":{"type":"boolean"},"summary":{"type":"string"},"code":{"type":"string"},"stage":{"type":"string"},"execution_time":{"type":"number"},"backup":{"type":"string"}}}"#,
    },
    BuiltinTool {
        name: "skills.restore",
        config: &SKILLS,
        effect: Effect::Irreversible,
        parameters: r#"{"type":"object","additionalProperties":false,"properties":{"backup":{"type":["string","null"]}}}"#,
        returns: r#"{"type":"object","required":["restored"],"properties":{"restored":{"type":"boolean"},"skill_id":{"type":"string"}}}"#,
    },
    BuiltinTool {
        name: "policy.decide",
        config: &["chain"],
        effect: Effect::None,
        parameters: EMPTY_CONTRACT,
        returns: r#"{"type":"object","required":["decision","source","notes"],"properties":{"decision":{"enum":["AUTO_RUN","ASK","BLOCK"]},"source":{"enum":["forced","block","ask","allow","provider","score_lock"]},"notes":{"type":"array","items":{"type":"string"}},"score":{"type":"number"},"risk":{"type":"number"},"age_minutes":{"type":"number"}}}"#,
    },
];

/// The contract of a `model` binding; its results hold for `format: text` (language 9.18).
pub static MODEL: BuiltinTool = BuiltinTool {
    name: "model",
    config: &[],
    effect: Effect::None,
    parameters: r#"{"type":"object","additionalProperties":false,"properties":{"prompt":{"type":"string"},"messages":{"type":"array","items":{"type":"object"}},"inputs":{}}}"#,
    returns: r#"{"type":"object","required":["content","tool_calls","message","finish","usage"],"properties":{"content":{"type":"string"},"tool_calls":{"type":"array","items":{"type":"object","required":["id","name","args"],"properties":{"id":{"type":"string"},"name":{"type":"string"},"args":{"type":["object","null"]},"raw":{"type":"string"}}}},"message":{"type":"object"},"finish":{"enum":["stop","tool_calls"]},"usage":{"type":"object","required":["input","output"],"properties":{"input":{"type":"integer"},"output":{"type":"integer"}}}}}"#,
};

#[cfg(test)]
mod tests {
    use super::*;
    use trellis_base::schema::Schema;

    #[test]
    fn every_contract_is_a_json_schema() {
        for builtin in BUILTINS.iter().chain([&MODEL]) {
            for text in [builtin.parameters, builtin.returns].into_iter().filter(|text| !text.is_empty()) {
                let schema = Value::from_json(text).unwrap_or_else(|error| panic!("{}: {error}", builtin.name));
                Schema::new(&schema).unwrap_or_else(|error| panic!("{}: {error:?}", builtin.name));
            }
            assert_eq!(BuiltinTool::find(builtin.name).is_some(), builtin.name != "model");
        }
    }
}
