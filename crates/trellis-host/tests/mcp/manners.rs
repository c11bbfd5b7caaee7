//! Servers without manners: each failure has its code, and nobody waits for ever.

use std::time::Duration;

use trellis_core::{Value, engine::ToolErrorKind};

use crate::host::{Stage, asked, code, run, until};

/// A host with one rude server.
fn stage(manner: &str, more: &str) -> Stage {
    Stage::new(&project(manner, more))
}

fn project(manner: &str, more: &str) -> String {
    format!(
        "servers:\n  rude: {{ process: [python3, SCRIPTS/rude.py, {manner}, ./log], {more} }}\n\
         bindings:\n  echo: {{ mcp: rude/echo }}\n  shape: {{ mcp: {{ server: rude, tool: shape }} }}\n  env: {{ mcp: rude/env }}\n  \
         gone: {{ mcp: rude/gone }}\n"
    )
}

impl Stage {
    /// Returns the server's own log.
    fn log(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    fn starts(&self) -> usize {
        self.log().iter().filter(|line| *line == "started").count()
    }
}

/// A call of `echo` of a server with this manner, and its error.
async fn failed(stage: &Stage) -> trellis_core::ToolError {
    stage.call("echo", r#"{"text":"hello"}"#).await.unwrap_err()
}

#[test]
fn a_good_server_is_started_once_and_ends_with_the_host() {
    run(async {
        // language 9.13, 9.15
        let stage = stage("good", "");
        assert_eq!(stage.call("echo", r#"{"text":"{\"a\": 1}"}"#).await.unwrap().to_json(), r#"{"a":1}"#);
        let twice = tokio::join!(stage.call("echo", r#"{"text":"one"}"#), stage.call("echo", r#"{"text":"two"}"#));
        assert_eq!((twice.0.unwrap(), twice.1.unwrap()), (Value::text("one"), Value::text("two")));
        let log = stage.log();
        let expected = r#"call {"progressToken": 1, "trellis/attempt": 1, "trellis/call": "s-call-1", "trellis/key": "s-key"}"#;
        assert!(log.iter().any(|line| line.contains(r#""trellis/call": "s-call-1", "trellis/key": "s-key""#)), "{expected} {log:?}");
        assert_eq!(stage.starts(), 1, "{log:?}");
        assert_eq!(log.iter().filter(|line| *line == "tools/list").count(), 1, "{log:?}");
        stage.host.close().await;
        assert_eq!(stage.log().last().unwrap(), "end of input");
        assert_eq!(code(&failed(&stage).await), "mcp-lost");
    });
}

#[test]
fn facts_say_which_server_answered() {
    run(async {
        let stage = stage("good", "");
        let asked = asked("echo", r#"{"text":"x"}"#, None);
        let result = stage.bindings.call(&stage.program, &asked.pending, &asked.caller).await;
        assert_eq!(result.meta.unwrap().to_json(), r#"{"protocol":"2025-11-25","server":"rude","version":"rude 1.2.3"}"#);
    });
}

#[test]
fn a_command_that_is_not_there() {
    run(async {
        let stage = Stage::new("servers: { s: { process: [./nowhere] } }\nbindings: { t: { mcp: s/t } }\n");
        let error = stage.call("t", "{}").await.unwrap_err();
        assert_eq!(code(&error), "connect");
        assert!(error.message.starts_with("the server `s` cannot start: `./nowhere` does not exist"), "{}", error.message);
    });
}

#[test]
fn a_server_that_dies_three_times_is_left_alone() {
    run(async {
        let stage = stage("dies-at-once", "");
        for _ in 0..3 {
            let error = failed(&stage).await;
            assert_eq!((code(&error), error.is_final, error.after), ("mcp-lost", false, None));
            assert_eq!(error.message, "the server `rude` exited with 7");
        }
        let error = failed(&stage).await;
        assert_eq!(code(&error), "mcp-lost");
        assert!(error.after.is_some_and(|after| (50_000..=60_000).contains(&after)), "{error:?}");
        assert_eq!(stage.starts(), 3);
    });
}

#[test]
fn a_server_that_dies_in_its_handshake_says_how() {
    run(async {
        let error = failed(&stage("dies-in-handshake", "")).await;
        assert_eq!((code(&error), &*error.message), ("mcp-lost", "the server `rude` exited with 1"));
    });
}

#[test]
fn a_server_that_dies_in_a_call_is_started_again_by_the_next_attempt() {
    run(async {
        let stage = stage("dies-in-call", r#"env: { TOKEN: "{{secret:token}}" }"#);
        for starts in 1..=2 {
            let error = failed(&stage).await;
            assert_eq!((code(&error), error.is_final), ("mcp-lost", false));
            // Its secret is masked in its message (language 9.9).
            assert_eq!(error.message, "the server `rude` exited with 3: out of memory: ***");
            assert_eq!(stage.starts(), starts);
        }
        let stage = self::stage("dies-in-second-call", "");
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
        let both = tokio::join!(failed(&stage), failed(&stage));
        assert_eq!((code(&both.0), code(&both.1)), ("mcp-lost", "mcp-lost"));
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
    });
}

#[test]
fn logs_on_standard_output_answers_twice_and_to_nobody_are_passed_over() {
    run(async {
        for (manner, said) in [("logs", "hello"), ("twice", "first"), ("unknown-id", "hello")] {
            let stage = stage(manner, "");
            for _ in 0..3 {
                assert_eq!(stage.call("echo", r#"{"text":"hello"}"#).await.unwrap(), Value::text(said), "{manner}");
            }
            assert_eq!(stage.starts(), 1, "{manner}");
        }
    });
}

#[test]
fn a_server_that_never_answers_discover_is_taken_for_an_old_one() {
    run(async {
        let stage = stage("mute-discover", "");
        // The call gives up; opening goes on, and the next attempt finds the connection.
        assert_eq!(stage.call_within("echo", r#"{"text":"x"}"#, 300).await.unwrap_err().kind, ToolErrorKind::Timeout);
        assert_eq!(stage.call("echo", r#"{"text":"x"}"#).await.unwrap(), Value::text("x"));
        assert!(stage.log().contains(&"server/discover".to_owned()), "{:?}", stage.log());
        assert_eq!(stage.starts(), 1);
        // `legacy` asks nothing (language 9.13).
        let stage = self::stage("mute-discover", "era: legacy");
        assert_eq!(stage.call("echo", r#"{"text":"x"}"#).await.unwrap(), Value::text("x"));
        assert!(!stage.log().contains(&"server/discover".to_owned()), "{:?}", stage.log());
        // `modern` takes nothing else.
        let error = failed(&self::stage("good", "era: modern")).await;
        assert_eq!((code(&error), error.data.as_ref().unwrap().to_json().as_str(), error.is_final), ("mcp-rpc", r#"{"rpc":-32601}"#, true));
    });
}

#[test]
fn a_mute_call_times_out_and_is_told_so() {
    run(async {
        let stage = stage("mute-call", "");
        // The server has started before the time of a call runs.
        stage.call("env", r#"{"names":[]}"#).await.unwrap();
        let error = stage.call_within("echo", r#"{"text":"x"}"#, 500).await.unwrap_err();
        assert_eq!((error.kind, &*error.message), (ToolErrorKind::Timeout, "`echo` took longer than 500ms"));
        until("the server knows", || stage.log().contains(&"notifications/cancelled".to_owned())).await;
        assert_eq!(stage.starts(), 1);
    });
}

#[test]
fn a_call_that_is_stopped_may_have_succeeded() {
    run(async {
        // language 9.15
        let stopped = async |manner: &str| {
            let stage = stage(manner, "grace: 1s");
            let asked = asked("echo", r#"{"text":"x"}"#, None);
            let (result, ()) = tokio::join!(stage.carry_out(&asked), async {
                until("the call runs", || stage.log().iter().any(|line| line.starts_with("call "))).await;
                asked.caller.cancel().cancel();
            });
            (result, stage)
        };
        assert_eq!(stopped("slow").await.0.unwrap(), Value::text("done all the same"));
        let (result, stage) = stopped("mute-call").await;
        assert_eq!(result.unwrap_err().message, "`echo` was stopped");
        assert!(stage.log().contains(&"notifications/cancelled".to_owned()), "{:?}", stage.log());
        // The connection goes on.
        assert_eq!(stage.call("env", r#"{"names":[]}"#).await.unwrap().to_json(), "{}");
        assert_eq!(stage.starts(), 1);
    });
}

#[test]
fn progress_is_told_in_order_and_a_flood_of_it_is_bounded() {
    run(async {
        let stage = stage("progress", "");
        let call = asked("echo", r#"{"text":"x"}"#, None);
        assert_eq!(stage.carry_out(&call).await.unwrap(), Value::text("x"));
        assert_eq!(*call.progress.lock().unwrap(), ["0/3 step 0", "1/3 step 1", "2/3 step 2"]);
        let stage = self::stage("floods", "");
        let call = asked("echo", r#"{"text":"x"}"#, None);
        assert_eq!(stage.carry_out(&call).await.unwrap(), Value::text("x"));
        let told = call.progress.lock().unwrap().len();
        // Of 50,000, whatever the time that they took.
        assert!((1..25_000).contains(&told), "{told}");
    });
}

#[test]
fn a_line_of_100_mb_ends_the_connection() {
    run(async {
        let stage = stage("huge", "");
        let error = failed(&stage).await;
        assert_eq!((code(&error), error.is_final), ("too-large", true));
        assert_eq!(error.message, "the server `rude` sent an answer of more than 16777216 bytes");
    });
}

#[test]
fn an_image_above_the_bound_of_results() {
    run(async {
        let error = failed(&stage("image", "")).await;
        assert_eq!((code(&error), error.is_final), ("too-large", true));
        assert!(error.message.ends_with("more than the 1048576 that `limits.tool_output` allows"), "{}", error.message);
    });
}

#[test]
fn answers_that_are_none_and_errors_of_the_protocol() {
    run(async {
        let error = failed(&stage("no-result", "")).await;
        assert_eq!(code(&error), "mcp-rpc");
        assert!(error.message.starts_with("the answer cannot be read"), "{}", error.message);
        let error = failed(&stage("rpc-error", r#"env: { TOKEN: "{{secret:token}}" }"#)).await;
        assert_eq!((code(&error), error.is_final, &*error.message), ("mcp-rpc", false, "the disk is full: ***"));
        assert_eq!(error.data.unwrap().to_json(), r#"{"data":{"free":0},"rpc":-32050}"#);
    });
}

#[test]
fn a_server_that_asks_is_refused() {
    run(async {
        // language 9.16
        let stage = stage("asks", "");
        let error = failed(&stage).await;
        assert_eq!((code(&error), error.data.as_ref().unwrap().to_json().as_str()), ("mcp-rpc", r#"{"rpc":-32601}"#));
    });
}

#[test]
fn a_server_that_closes_its_standard_input_is_started_again() {
    run(async {
        let stage = stage("closes-stdin", "grace: 200ms");
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
        tokio::time::sleep(Duration::from_millis(300)).await;
        let error = stage.call_within("echo", r#"{"text":"x"}"#, 5000).await.unwrap_err();
        assert_eq!(code(&error), "mcp-lost");
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
        assert_eq!(stage.starts(), 2);
    });
}

#[test]
fn tools_and_arguments_are_checked_before_anything_is_sent() {
    run(async {
        // language 9.13
        let stage = stage("good", "");
        let error = stage.call("echo", r#"{"text":3}"#).await.unwrap_err();
        assert_eq!((code(&error), error.is_final), ("mcp-rpc", true));
        assert_eq!(error.data.as_ref().unwrap().to_json(), r#"{"rpc":-32602}"#);
        assert_eq!(error.message, "`rude/echo` does not take these arguments: /text: must be a text, is an integer");
        let error = stage.call("gone", "{}").await.unwrap_err();
        assert_eq!((code(&error), error.data.as_ref().unwrap().to_json().as_str()), ("mcp-rpc", r#"{"rpc":-32602}"#));
        assert!(!stage.log().contains(&"tools/call".to_owned()), "{:?}", stage.log());
        // language 9.14
        assert!(stage.call("shape", r#"{"size":3}"#).await.is_ok());
        assert_eq!(stage.call("shape", r#"{"size":"3"}"#).await.unwrap_err().kind, ToolErrorKind::Schema);
    });
}

#[test]
fn a_tool_that_vanished_is_not_called_any_more() {
    run(async {
        let stage = stage("vanishes", "");
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
        tokio::time::sleep(Duration::from_millis(200)).await;
        let error = failed(&stage).await;
        assert_eq!((code(&error), &*error.message), ("mcp-rpc", "the server `rude` has no tool `echo`"));
    });
}

#[test]
fn a_tool_that_changed_its_schema_is_held_to_the_new_one() {
    // language 9.13
    run(async {
        let stage = stage("changes", "");
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
        tokio::time::sleep(Duration::from_millis(200)).await;
        let error = failed(&stage).await;
        assert_eq!((code(&error), error.is_final), ("mcp-rpc", true), "{error:?}");
        assert!(error.message.starts_with("`rude/echo` does not take these arguments: "), "{error:?}");
        assert_eq!(stage.log().iter().filter(|line| line.starts_with("call ")).count(), 1, "nothing is sent");
    });
}

#[test]
fn all_pages_of_the_list_are_read_and_an_endless_list_ends() {
    run(async {
        let stage = Stage::new(&project("pages", "").replace("rude/echo", "rude/echo4"));
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
        let stage = self::stage("endless-pages", "");
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
    });
}

#[test]
fn an_idle_server_is_closed_and_started_again() {
    run(async {
        let stage = stage("good", "idle: 200ms");
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
        until("it is closed", || stage.log().contains(&"end of input".to_owned())).await;
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
        assert_eq!(stage.starts(), 2);
    });
}

#[test]
fn a_reload_keeps_connections_and_a_new_definition_replaces_them() {
    run(async {
        let mut stage = stage("good", "");
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
        stage.reload(&project("good", ""));
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
        assert_eq!(stage.starts(), 1);
        stage.reload(&project("good", "env: { A: b }"));
        assert_eq!(stage.call("env", r#"{"names":["A"]}"#).await.unwrap().to_json(), r#"{"A":"b"}"#);
        assert_eq!(stage.starts(), 2);
        until("the old one is closed", || stage.log().contains(&"end of input".to_owned())).await;
    });
}

#[test]
fn a_server_that_stays_is_ended_by_force() {
    run(async {
        let stage = stage("stays", "grace: 300ms");
        assert!(stage.call("echo", r#"{"text":"x"}"#).await.is_ok());
        // Without force this waits for ever.
        stage.host.close().await;
    });
}

#[test]
fn no_server_inherits_credentials_and_secrets_stand_in_its_variables() {
    run(async {
        // language 9.9, 9.2
        let stage = stage("good", r#"env: { TOKEN: "Bearer {{secret:token}}", N: 1 }"#);
        let seen = stage.call("env", r#"{"names":["N","TOKEN","TRELLIS_STORE","TRELLIS_SECRET_X"]}"#).await.unwrap();
        assert_eq!(seen.to_json(), r#"{"N":"1","TOKEN":"Bearer ***","TRELLIS_SECRET_X":null,"TRELLIS_STORE":null}"#);
        let stage = self::stage("good", r#"env: { TOKEN: "{{secret:unknown}}" }"#);
        let error = failed(&stage).await;
        assert_eq!((code(&error), error.is_final), ("secret", true));
        assert_eq!(stage.starts(), 0);
    });
}

#[test]
fn args_make_what_is_handed_on() {
    run(async {
        // language 9.2
        let stage = Stage::new(
            "servers: { rude: { process: [python3, SCRIPTS/rude.py, good] } }\n\
             bindings: { greet: { mcp: rude/echo, args: { text: \"{{ who }} by {{ call.key }}\" }, parameters: { type: object, required: [who] } } }\n",
        );
        assert_eq!(stage.call("greet", r#"{"who":"Ada"}"#).await.unwrap(), Value::text("Ada by s-key"));
        let error = stage.call("greet", "{}").await.unwrap_err();
        assert_eq!((code(&error), error.is_final), ("template", true));
    });
}

#[test]
fn schemas_that_are_too_long_or_lead_outside_hold_nobody_back() {
    run(async {
        // language 9.13
        let held = failed(&stage("short-schema", "")).await;
        assert_eq!((code(&held), held.is_final), ("mcp-rpc", true));
        for manner in ["long-schema", "outside-ref"] {
            assert_eq!(stage(manner, "").call("echo", r#"{"text":"hello"}"#).await.unwrap(), Value::text("hello"), "{manner}");
        }
    });
}
