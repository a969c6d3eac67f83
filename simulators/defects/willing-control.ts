/** A control API that says yes to everything, with plausible answers, and does nothing. */
import { mkdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { CONTROL_CAPABILITIES, type ControlDeployment, type ControlInfo } from '../../harness/contract/control.ts';
import type { Deployment } from '../../harness/contract/device-api.ts';
import { listenAt, type Place, type StandIn } from './listening.ts';

/**
 * Serves it (`fixtures/control.md`) with every capability. The event log and the folder of config files that it names
 * are made
 * in `directory`, and stay empty. Rejects with the system's error when it cannot listen there.
 */
export function willingControl(where: Place, directory: string): Promise<StandIn> {
  const info: ControlInfo = {
    capabilities: [...CONTROL_CAPABILITIES],
    retention: 1000,
    event_log: `${directory}/events.jsonl`,
    config_root: `${directory}/root`,
  };
  mkdirSync(`${directory}/root`, { recursive: true });
  writeFileSync(`${directory}/events.jsonl`, '');
  const routes = routesOf(info);
  const server = http.createServer((request, response) => {
    text(request).then(
      (body) => {
        const answer = routes(`${request.method} ${request.url}`, body === '' ? {} : JSON.parse(body));
        response.writeHead(answer === undefined ? 204 : 200, { 'Content-Type': 'application/json' });
        response.end(answer && JSON.stringify(answer));
      },
      () => response.destroy(),
    );
  });
  return listenAt(server, where);
}

/** The answer to a request; undefined for one without a body. */
function routesOf(info: ControlInfo): (request: string, body: unknown) => object | undefined {
  const deployments = new Map<string, Deployment>();
  let latest = 0;
  return (request, body) => {
    const [, removed] = /^POST \/deployments\/([^/]+)\/remove$/.exec(request) ?? [];
    if (removed !== undefined) {
      latest += 1;
      const known = deployments.get(removed) ?? deploymentOf(removed, {});
      return { ...known, status: 'archived', activity_status: 'archived', target_status: 'archived' };
    }
    switch (request) {
      case 'GET /':
        return info;
      case 'POST /deployments': {
        latest += 1;
        const deployment = deploymentOf(`dpl_willing${deployments.size + 1}`, body as ControlDeployment);
        deployments.set(deployment.id, deployment);
        return deployment;
      }
      case 'POST /events': {
        const first = latest + 1;
        latest += (body as { count: number }).count;
        return { first_id: first, last_id: latest };
      }
      case 'POST /compact':
        return { earliest_id: Math.max(1, Math.ceil(latest / 2)), latest_id: latest };
      default:
        return undefined;
    }
  };
}

function deploymentOf(id: string, wanted: ControlDeployment): Deployment {
  const { activity_status = 'deployed', error_status = 'none' } = wanted;
  return {
    object: 'deployment',
    id,
    description: wanted.description ?? '',
    status: error_status === 'none' ? activity_status : error_status,
    activity_status,
    error_status,
    target_status: wanted.target_status ?? 'deployed',
    device_id: 'dvc_willing',
    release_id: wanted.release_id ?? 'rls_willing',
    created_at: new Date().toISOString(),
  };
}
