/** The page of a device: what is deployed, who listens and gets which frames, what the log holds, and what can be done to it. */
import type { VNode } from 'preact';
import { openPage, type PageProps } from '../shell.ts';
import { html } from '../view.ts';
import { AgentCard, CurrentCard } from './agent.ts';
import type { DeviceDocument } from './document.ts';
import { DeedsCard, DriveCard } from './drive.ts';
import { LogCard } from './log.ts';
import { ListenersCard, StreamCard } from './stream.ts';
import { SwitchCard } from './switch.ts';

function DevicePage({ document }: PageProps<DeviceDocument>): VNode {
  return html`<div class="columns">
    <div class="side">
      <${AgentCard} document=${document} />
      <${CurrentCard} document=${document} />
      <${DriveCard} document=${document} />
      <${SwitchCard} document=${document} />
    </div>
    <div class="wide">
      <${ListenersCard} document=${document} />
      <${StreamCard} document=${document} />
      <${LogCard} document=${document} />
      <${DeedsCard} document=${document} />
    </div>
  </div>`;
}

openPage<DeviceDocument>(DevicePage, ({ deviceId }) => `Device ${deviceId}`);
