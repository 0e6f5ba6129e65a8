// The state of the page as the fragment of its address:  #1.base64url(deflate(JSON)).
// A fragment never leaves the browser, so a shared link shares nothing with any server.
import { fromBase64, toBase64Url } from "./base64";
import { pack, unpack } from "./deflate";

const VERSION = "1.";
const LIMIT = 4 << 20; // bytes of JSON a link may unpack to

export async function encodeLink(state: unknown): Promise<string> {
  const json = new TextEncoder().encode(JSON.stringify(state));
  return "#" + VERSION + toBase64Url(await pack(json, "deflate-raw"));
}

// Null when the fragment holds no state at all; throws when it holds one that cannot be read.
export async function decodeLink(fragment: string): Promise<unknown> {
  const text = fragment.replace(/^#/, "");
  if (text === "") return null;
  if (!text.startsWith(VERSION)) throw new Error("this link was not made by this page");
  if (!/^[\w-]*$/.test(text.slice(VERSION.length))) throw new Error("this link is damaged");
  let json: string;
  try {
    const bytes = await unpack(fromBase64(text.slice(VERSION.length)), "deflate-raw", LIMIT);
    json = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return JSON.parse(json);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`this link is damaged or cut short (${why})`);
  }
}
