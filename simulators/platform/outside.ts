/** Where a platform is driven and looked at: the control API and the console, which share one control. */
import { newControlToken } from '../common/control-guard.ts';
import type { Exchanges } from './console/exchanges.ts';
import { PlatformControl } from './control/control.ts';
import type { Plans } from './control/plans.ts';
import { type PlatformControlServer, type PlatformInfo, serveControl } from './control/server.ts';
import type { Core } from './core.ts';
import type { PlatformOptions } from './options.ts';
import type { Renderer } from './render.ts';

/** What `control` and `ui` have opened. */
export interface Outside {
  control?: { url: string; token: string };
  /** Address of the page. */
  ui?: string;
  close(): Promise<void>;
}

interface Parts {
  core: Core;
  renderer: Renderer;
  plans: Plans;
  /** Needed for `ui`. */
  exchanges: Exchanges | undefined;
  info: PlatformInfo;
}

/** Rejects with the system's error when a port cannot be used, and has left nothing open then. */
export async function openOutside(
  { core, renderer, plans, exchanges, info }: Parts,
  { control: asked, ui }: Pick<PlatformOptions, 'control' | 'ui'>,
): Promise<Outside> {
  const control = new PlatformControl(core, renderer, plans);
  let server: PlatformControlServer | undefined;
  let page: AsyncDisposable | undefined;
  const close = async (): Promise<void> => {
    await page?.[Symbol.asyncDispose]();
    await server?.close();
    control[Symbol.dispose]();
  };
  try {
    const outside: Outside = { close };
    if (asked !== undefined) {
      const { port, token = newControlToken() } = asked;
      server = await serveControl(control, core, info, { port, token });
      outside.control = { url: server.url, token };
    }
    if (ui !== undefined && exchanges !== undefined) {
      const { PlatformConsole } = await import('./console/platform-console.ts');
      const opened = new PlatformConsole(core, control, exchanges);
      page = opened;
      outside.ui = await opened.serve({ ...info, ...(server !== undefined && { control: server.url }) }, ui.port);
    }
    return outside;
  } catch (error) {
    await close();
    throw error;
  }
}
