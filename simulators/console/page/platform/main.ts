/** The page of a platform: its devices and deployments as they move, the requests as they come, and what can be done by hand. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { openPage, type PageProps } from '../shell.ts';
import { html } from '../view.ts';
import { DeploymentsCard } from './deployments.ts';
import { DevicesCard } from './devices.ts';
import type { PlatformDocument } from './document.ts';
import { PlanCard, PlansCard } from './plans.ts';
import { RequestsCard } from './requests.ts';
import { DeedsCard, StateCard } from './state.ts';

function PlatformPage({ document }: PageProps<PlatformDocument>): VNode {
  const [route, setRoute] = useState('GET /devices');
  return html`<div class="columns">
    <div class="side">
      <${StateCard} document=${document} />
      <${PlanCard} document=${document} route=${route} onRoute=${setRoute} />
      <${PlansCard} document=${document} />
      <${DeedsCard} document=${document} />
    </div>
    <div class="wide">
      <div class="two">
        <${DevicesCard} document=${document} />
        <${DeploymentsCard} document=${document} />
      </div>
      <${RequestsCard} document=${document} onPlan=${setRoute} />
    </div>
  </div>`;
}

openPage<PlatformDocument>(PlatformPage, ({ addresses }) => `Platform ${addresses['url'] ?? ''}`);
