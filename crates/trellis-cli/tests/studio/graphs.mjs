/** Graphs that the journeys walk besides the tour. */

/** Every kind of question, one after the other. */
export const KINDS = {
  "kinds/start.md": "---\ninput_type: choice\noptions: [{text: Red, value: red}, {text: Green, value: green}]\nsave_to: colour\nto: sure\n---\n# Colours\n\nWhich colour?\n",
  "kinds/sure.md": "---\ninput_type: confirm\nsave_to: sure\nto: many\n---\nIs {{ colour }} what you want?\n",
  "kinds/many.md": "---\ninput_type: int\nsave_to: many\nto: shape\n---\nHow many?\n",
  "kinds/shape.md": "---\ninput_type: json\ninput_schema: {type: object, required: [width], properties: {width: {type: integer, minimum: 1}}}\nsave_to: shape\nto: word\n---\nWhich shape?\n",
  "kinds/word.md": "---\ninput_type: secret\nsave_to: word\nto: done\n---\nThe password?\n",
  "kinds/done.md": "---\noutput: \"{{ many }}\"\n---\nDone with {{ many }}.\n",
};

/** A call that a person must approve, and that nothing here carries out. */
export const SHOP = {
  "shop/start.md": "---\ninput_type: int\nsave_to: count\nto: send\n---\nHow many?\n",
  "shop/send.md":
    "---\ntools: [{name: ship, effect: irreversible}]\ndo: {name: ship, args: {count: \"{{ count }}\"}, approve: {ask: \"Ship {{ count }}?\"}}\nsave_to: shipped\non_error: left\non_denied: left\nto: end\n---\n",
  "shop/left.md": "---\noutput: left\n---\nYou left.\n",
  "shop/end.md": "---\noutput: \"{{ shipped }}\"\n---\nShipped.\n",
};

/** A call that fails while the file `down` is there, and ends its session. */
export const STALL = {
  "stall/trellis.yaml": "name: stall\nbindings:\n  charge: { process: [sh, ./charge.sh] }\n",
  "stall/charge.sh": "if [ -e down ]; then echo 'the line is down' >&2; exit 1; fi\necho '{\"id\": 7}'\n",
  "stall/down": "",
  "stall/start.md": "---\ndo:\n  name: charge\n  args: { total: 12, currency: EUR }\nsave_to: paid\nto: end\n---\nOne moment.\n",
  "stall/end.md": "---\noutput: \"{{ paid.id }}\"\n---\nThank you.\n",
};

/** A call that runs until the file `baked` is there. */
export const OVEN = {
  "oven/trellis.yaml": "name: oven\nbindings:\n  bake: { process: [sh, ./bake.sh], effect: none }\n",
  "oven/bake.sh": "until [ -e baked ]; do sleep 0.1; done\necho 9\n",
  "oven/start.md": "---\ninput_type: text\nsave_to: cake\nto: bake\n---\nWhich cake?\n",
  "oven/bake.md": "---\ndo: bake\nsave_to: cakes\non_error: fail\nto: end\n---\nBaking.\n",
  "oven/end.md": "---\noutput: \"{{ cakes }}\"\n---\nDone.\n",
};

/** Texts that try to run something. */
const TRICKS = [
  "<script>window.tricked = true</script>",
  "<img src=x onerror=\"window.tricked = true\">",
  "[link](javascript:window.tricked=true)",
  "![picture](javascript:window.tricked=true)",
  "<svg onload=\"window.tricked = true\"></svg>",
  "<a href=\"javascript:window.tricked=true\">here</a>",
];

export const HOSTILE = {
  "hostile/start.md": `---\ninput_type: choice\noptions: [{text: "<img src=x onerror='window.tricked=true'>", value: "<b>"}]\nsave_to: said\nto: end\n---\n# Hostile\n\n${TRICKS.join("\n\n")}\n\n\`\`\`" onload="window.tricked=true\nx\n\`\`\`\n`,
  "hostile/end.md": "---\noutput: \"{{ said }}\"\n---\n{{ said }} is what was said.\n",
};

/** A graph of many nodes in modules of 25, each of which leads to two others. */
export function large(nodes) {
  const modules = nodes / 25;
  const files = { "large/start.md": "---\nto: m0\n---\nIt begins.\n", "large/end.md": "It is over.\n" };
  for (let module = 0; module < modules; module += 1) {
    for (let node = 0; node < 25; node += 1) {
      const name = node === 0 ? "start" : `n${node}`;
      const below = (of) => (of < modules ? `/m${of}` : "/end");
      const next = node < 24 ? `n${node + 1}` : below(2 * module + 1);
      const far = node < 20 ? `n${node + 4}` : node === 24 ? below(2 * module + 2) : next;
      const ways = far === next ? `to: ${next}` : `transitions:\n  - { condition: input == "far", to: ${far} }\n  - to: ${next}`;
      files[`large/m${module}/${name}.md`] = `---\ninput_type: text\n${ways}\n---\nNode ${node} of ${module}.\n`;
    }
  }
  return files;
}

/** Two children that ask the same question about two things, beside a call that nothing here carries out. */
export const PAIR = {
  "pair/start.md":
    "---\ntools: [{name: count, effect: none}]\ndo:\n  parallel:\n    a: {name: count}\n    b: {graph: ask, args: {topic: lamps}}\n    c: {graph: ask, args: {topic: chairs}}\non_error: fail\nsave_to: all\nto: end\n---\nAll of it is counted.\n",
  "pair/end.md": "---\noutput: \"{{ all.b }} and {{ all.c }}\"\n---\nThat is all.\n",
  "pair/ask/start.md":
    "---\nrequired_context: [topic]\ncontext_schema: {topic: string}\ninput_type: int\nsave_to: many\nto: end\n---\nHow many **{{ topic }}**?\n",
  "pair/ask/end.md": "---\noutput: \"{{ many }}\"\n---\n",
};

/** A call that gets two secrets, and that a person must approve. */
export const VAULT = {
  "vault/start.md":
    "---\ntools: [{name: transfer, effect: none}]\ndo: {name: transfer, args: {sum: 12, key: \"Bearer é{{secret:bank}}/{{secret:branch}}\", note: \"\"}, approve: {ask: \"Transfer 12?\"}}\nsave_to: sent\non_error: end\non_denied: end\nto: end\n---\n",
  "vault/end.md": "It is over.\n",
};

/** A session that passes through many nodes. */
export const LONG = {
  "long/trellis.yaml": "name: long\ncontext: {n: {type: integer}}\nlimits: {pass_through: 20000}\n",
  "long/start.md": "---\nset: {n: 0}\nto: step\n---\nIt begins.\n",
  "long/step.md": "---\nset: {n: \"{{ n + 1 }}\"}\ntransitions:\n  - { condition: n == 10000, to: rest }\n  - to: step\n---\n",
  "long/rest.md": "---\ninput_type: text\nsave_to: word\nto: rest\n---\nAll of it is passed.\n",
};

/** A model that runs a command, writes to another chat, begins a task, or says what came. */
export const MODEL = `
- when: { matches: '^run ' }
  reply: { tool_calls: [{ name: shell, args: { command: "{{ last.content | replace('run ', '') }}" } }] }
- when: { matches: '^tell slack ' }
  reply: { tool_calls: [{ name: message, args: { chat: "slack:C0123", text: "{{ last.content | replace('tell slack ', '') }}" } }] }
- reply: { content: 'came: {{ last.content }}' }
`;
