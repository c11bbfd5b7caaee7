/** The studio begins: the token, the address, the stream, the page. */

import { render } from "preact";

import { startLive } from "./api/live";
import { App } from "./app";
import { listenForPalette } from "./shell/keys";
import { followDead } from "./state/dead";
import { followGraphs } from "./state/graphs";
import { followAddress } from "./state/route";
import { takeTokenOfAddress } from "./state/token";
import { followVersion } from "./state/version";
import "./style/index.css";

await takeTokenOfAddress();
followAddress();
followGraphs();
followDead();
startLive();
void followVersion();
listenForPalette();

const root = document.getElementById("studio");
if (root) render(<App />, root);
