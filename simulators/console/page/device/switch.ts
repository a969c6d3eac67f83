/** Known defects and conformant variants that can be switched on. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { PageProps } from '../shell.ts';
import { ActionButton, Card, html } from '../view.ts';
import type { DeviceDocument } from './document.ts';

export function SwitchCard({ document }: PageProps<DeviceDocument>): VNode {
  const { deviations, switchedOn } = document;
  const [search, setSearch] = useState('');
  const [wanted, setWanted] = useState<readonly string[] | undefined>(undefined);
  const chosen = wanted ?? switchedOn;
  const words = search.toLowerCase();
  const found = deviations.filter(({ name, describe }) => `${name} ${describe}`.toLowerCase().includes(words));
  const toggle = (name: string): void =>
    setWanted(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]);
  const done = (): string => {
    setWanted(undefined);
    return 'the agent was started again';
  };
  return html`<${Card} title="Defects and variants" note=${`${switchedOn.length} on`}>
    <label>Find<input type="search" value=${search} placeholder="heartbeat, cursor, …"
      onInput=${(event: Event) => setSearch((event.target as HTMLInputElement).value)} /></label>
    <ul class="choices" tabindex="0" aria-label="Defects and variants">${found.map(
      ({ name, kind, describe }) => html`<li key=${name}><label class="inline">
        <input type="checkbox" name=${name} checked=${chosen.includes(name)} onChange=${() => toggle(name)} />
        <span><b class="code">${name}</b> <i class="kind ${kind}">${kind}</i><br /><span class="note">${describe}</span></span>
      </label></li>`,
    )}</ul>
    <div class="buttons"><${ActionButton} name="switch" label="Switch and restart" body=${() => ({ names: chosen })} done=${done}
      disabled=${wanted === undefined || document.agent !== 'up'} title="An agent decides at its start how it behaves" /></div>
  <//>`;
}
