/** The page of a fleet: every robot, the roll-out and its latency over time, thresholds, and what can be done by hand. */
import type { VNode } from 'preact';
import { useCallback, useState } from 'preact/hooks';
import { openPage, type PageProps } from '../shell.ts';
import { html } from '../view.ts';
import { RobotsCard } from './cells.ts';
import { ChartsCard } from './charts.ts';
import type { FleetDocument } from './document.ts';
import { DriveCard } from './drive.ts';
import { BandsCard, RunCard, ThresholdsCard, TroubleCard } from './facts.ts';
import { RobotCard } from './robot.ts';

function FleetPage({ document }: PageProps<FleetDocument>): VNode {
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const close = useCallback(() => setChosen(undefined), []);
  return html`<div class="columns fleet">
    <div class="side">
      <${RunCard} document=${document} />
      <${ThresholdsCard} document=${document} />
      <${DriveCard} document=${document} />
      <${BandsCard} document=${document} />
      <${TroubleCard} document=${document} />
    </div>
    <div class="wide">
      <${RobotsCard} document=${document} chosen=${chosen} onChoose=${setChosen} />
      ${chosen === undefined ? '' : html`<${RobotCard} key=${chosen} index=${chosen} ended=${document.ending !== null} onClose=${close} />`}
      <${ChartsCard} document=${document} />
    </div>
  </div>`;
}

openPage<FleetDocument>(FleetPage, ({ title, states }) => `Fleet ${title}, ${states.length} robots`);
