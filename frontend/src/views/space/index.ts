import { spaceToolbar } from "../../controls/space";
import { addView } from "../../registry";
import { spaceView } from "./view";

addView("space", { create: spaceView, toolbar: spaceToolbar });
