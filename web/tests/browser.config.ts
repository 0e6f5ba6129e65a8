// The tests in a real browser: one Chromium and one `heed serve` for all of them.
import { mergeConfig } from "vitest/config";
import common from "./vitest.config";

export default mergeConfig(common, { test: { globalSetup: ["tests/support/start_browser.ts"] } });
