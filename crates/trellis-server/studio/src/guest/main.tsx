/** The page begins: it greets the chat around it, which tells what to show. */

import { render } from "preact";

import "../style/tokens.css";
import "../style/base.css";
import "../style/controls.css";
import "../style/session.css";
import "../style/small.css";
import "./guest.css";
import { Page } from "./page";
import { absence, greet } from "./talk";

const root = document.getElementById("studio");
if (root) render(<Page />, root);
greet().catch(() => {
  absence.value = "The chat does not answer this page.";
});
