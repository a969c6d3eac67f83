/** Commands of the exploration on deployments and their files. */
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import { type ConfigFile, compareFiles, configRoot } from '../support/disk.ts';
import { ignoreRefusal, isDeployedEvent, payloadOf, publish, readUpToDeployed } from '../support/drive.ts';
import type { SeenEvent } from '../support/events.ts';
import { type Command, publishSome } from './commands.ts';

export const deploy = (request: ControlDeployment): Command => ({
  text: `deploy(${JSON.stringify(request)})`,
  async run(real) {
    const { t, current, ledger } = real;
    const files: ConfigFile[] = t.capabilities.has('files') ? [...(request.config_instances ?? [])] : [];
    const { config_instances: _, ...rest } = request;
    const since = Date.now();
    const made = await t.control
      .deploy({ ...rest, ...(files.length > 0 && { config_instances: files }) })
      .catch(ignoreRefusal);
    if (made === undefined) return current.expectUnchanged();
    t.saw('deployments');
    const isDeployed =
      made.activity_status === 'deployed' && made.target_status === 'deployed' && made.error_status !== 'failed';
    await current.expectMade(request, made, since);
    if (!isDeployed) current.files = [];
    if (isDeployed) {
      await readUpToDeployed(real.witness.subscription, made);
      real.learn();
      if (t.capabilities.has('files')) await current.expectReplaced(files);
      if (files.length > 0) {
        t.saw('deployments with files');
        const { lost, altered } = await compareFiles(t, configRoot(t), files);
        const missing = { expected: `every config file of ${made.id}`, actual: lost.join('; ') };
        // Missing files fail only a deployment without an error; a device that retries may still write files.
        if (lost.length > 0 && made.error_status === 'none') real.departs('file', missing);
        if (lost.length > 0) real.remarks('file', missing);
        if (altered.length > 0)
          real.remarks('file', {
            expected: `the config files of ${made.id} as they were given`,
            actual: altered.join('; '),
          });
      }
    }
    // Finds the first event of this deployment, from which a stream without a cursor must carry every event.
    const isOfNow = ({ envelope }: SeenEvent): boolean =>
      real.isWithin('occurred_at', envelope?.['occurred_at'], since, Date.now());
    const born = ledger.events.find((event) => event.id > ledger.closed && isOfNow(event))?.id;
    await real.settle(await publish(t, 1), since, born);
    const announced = ledger.events.filter((event) => isDeployedEvent(event, made.id));
    const [first] = announced;
    if (isDeployed && first !== undefined) await current.expectPayload(first, request, made, since);
    if (isDeployed && announced.length > 1 && !current.mayChange)
      real.remarks('deployed twice', {
        expected: `one deployment.deployed of ${made.id}`,
        actual: `${announced.length}`,
      });
    const announcedAs = first && payloadOf(first)['activity_status'];
    const isEarly = announcedAs !== 'deployed' && announcedAs === made.activity_status;
    if (!isDeployed && first !== undefined && (!current.mayChange || isEarly))
      real.departs('deployed unasked', {
        expected: `no deployment.deployed of ${made.id}, which is ${made.activity_status}`,
        actual: first.text.slice(0, 300),
      });
    await current.expectUnchanged();
  },
});

export const removeCurrent = (): Command => ({
  text: 'remove()',
  isPossible: ({ current }) => current.id !== undefined,
  async run(real) {
    const { t, current } = real;
    const { id } = current;
    if (id === undefined) return;
    const gone = await t.control.remove(id).catch(ignoreRefusal);
    if (gone === undefined) return current.expectUnchanged();
    await current.expectRemoved(id);
    t.saw('removals');
    await publishSome(1).run(real);
    await current.expectUnchanged();
  },
});

export const readCurrent = (): Command => ({ text: 'current()', run: ({ current }) => current.expectUnchanged() });
