// The controls above a sentence: few, since the sentence itself is the control.

import {
  directionChoice,
  drawnMenu,
  headStepper,
  matchCount,
  muteSinks,
  layerStepper,
  levelChoice,
  pairMenu,
  partsMenu,
  stackMenu,
  toolbarOf,
  type Toolbar,
  type ToolbarHost,
} from "../../controls/toolbar";
import { search, type Control } from "../../controls/controls";
import { readingMenu } from "../../controls/reading-menu";
import { hasParts, isPair } from "../../core/reading/axes";
import { quantitiesOf } from "../../core/reading/quantity";

export function sentenceToolbar(host: ToolbarHost): Toolbar {
  const { spec, labels } = host;
  const bar: Control[] = [];
  if (spec.stacks.length > 1) bar.push(stackMenu(host));
  if (quantitiesOf(spec).length > 1) bar.push(drawnMenu(host));
  bar.push(layerStepper(host), headStepper(host));
  if (spec.stacks.some((_, i) => isPair(spec, i))) bar.push(pairMenu(host));
  if (spec.stacks.some((_, i) => hasParts(spec, i))) bar.push(partsMenu(host));
  const reading = [levelChoice(host), directionChoice(host), muteSinks(host)];
  bar.push(readingMenu(host, "sentence", reading));
  bar.push(search(host, (s) => matchCount(spec, s, spec.kind, labels)));
  return toolbarOf(labels, bar);
}
