import type { CreateDeployment } from '../../../harness/contract/platform/deployment.ts';
import { archiveDeployment, createDeployment, deployDeployment, driftsOf } from '../domain/deployments.ts';
import { created, get, type Handlers, param, requireScope, shown } from '../http/call.ts';
import { list, page } from '../http/lists.ts';

export const deploymentHandlers: Handlers = {
  listDeployments: (call) => list(call, 'deployment'),
  getDeployment: (call) => get(call, 'deployment'),
  createDeployment: (call) => {
    const request = call.body as CreateDeployment;
    requireScope(call, request.target_status === 'deployed' ? 'deployments:deploy' : 'deployments:stage');
    return created(call, 'deployment', (core) => createDeployment(core, request, call.version));
  },
  deployDeployment: (call) => shown(call, 'deployment', (core) => deployDeployment(core, param(call, 'deployment_id'))),
  archiveDeployment: (call) =>
    shown(call, 'deployment', (core) => archiveDeployment(core, param(call, 'deployment_id'))),
  getDeploymentDrifts: (call) => {
    const seqs = driftsOf(call.core, param(call, 'deployment_id')).map(({ seq }) => seq);
    return page(call, 'deployment', {
      count: () => seqs.length,
      slice: (start, count) => seqs.slice(start, start + count),
    });
  },
};
