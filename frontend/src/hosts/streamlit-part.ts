// Stands before the code of a further view in the app: that code is run once the core is there.

import { sharedCore } from "./streamlit-core";

/** The code that follows reads this name. */
export const eyeline = await sharedCore();

export default function (): void {}
