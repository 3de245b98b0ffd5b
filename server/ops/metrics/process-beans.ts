// The beans that every JVM has and that dashboards read (spec/operations.md 8.9), from this process's figures. One table per
// bean: attribute, type, where its value comes from.

import type { Json } from '../../json.ts';
import { type AttributeRow, type Bean, type BeanKind, type BeanSource, createBean } from './bean-server.ts';
import { type ObjectName, parseObjectName } from './object-name.ts';
import type { ProcessFigures, Usage } from './process-figures.ts';

type Rows<T> = readonly (readonly [name: string, type: string, read: (figures: T) => Json])[];

const COMPOSITE = 'javax.management.openmbean.CompositeData';
const TEXT = 'java.lang.String';

const memory: Rows<ProcessFigures> = [
  ['HeapMemoryUsage', COMPOSITE, (figures) => usage(figures.heap())],
  ['NonHeapMemoryUsage', COMPOSITE, (figures) => usage(figures.nonHeap())],
  ['ObjectPendingFinalizationCount', 'int', () => 0],
  ['Verbose', 'boolean', () => false],
];

const threading: Rows<ProcessFigures> = [
  ['ThreadCount', 'int', (figures) => figures.threads().count],
  ['PeakThreadCount', 'int', (figures) => figures.threads().peak],
  ['DaemonThreadCount', 'int', (figures) => figures.threads().count - 1],
  ['TotalStartedThreadCount', 'long', (figures) => figures.threads().peak],
  ['AllThreadIds', '[J', (figures) => figures.threadIds()],
  ['CurrentThreadCpuTime', 'long', (figures) => figures.processorTime().total],
  ['CurrentThreadUserTime', 'long', (figures) => figures.processorTime().user],
  ['CurrentThreadAllocatedBytes', 'long', () => -1],
  ['TotalThreadAllocatedBytes', 'long', () => -1],
  ['CurrentThreadCpuTimeSupported', 'boolean', () => true],
  ['ThreadCpuTimeSupported', 'boolean', () => false],
  ['ThreadCpuTimeEnabled', 'boolean', () => false],
  ['ThreadAllocatedMemorySupported', 'boolean', () => false],
  ['ThreadAllocatedMemoryEnabled', 'boolean', () => false],
  ['ThreadContentionMonitoringSupported', 'boolean', () => false],
  ['ThreadContentionMonitoringEnabled', 'boolean', () => false],
  ['ObjectMonitorUsageSupported', 'boolean', () => false],
  ['SynchronizerUsageSupported', 'boolean', () => false],
];

const runtime: Rows<ProcessFigures> = [
  ['Name', TEXT, (figures) => `${process.pid}@${figures.system().host}`],
  ['Pid', 'long', () => process.pid],
  ['VmName', TEXT, () => 'V8'],
  ['VmVendor', TEXT, () => 'Node.js'],
  ['VmVersion', TEXT, () => process.versions.v8],
  ['SpecName', TEXT, () => 'ECMAScript'],
  ['SpecVendor', TEXT, () => 'Ecma International'],
  ['SpecVersion', TEXT, () => process.version],
  ['StartTime', 'long', (figures) => figures.startTimeMs()],
  ['Uptime', 'long', (figures) => figures.uptimeMs()],
];

const operatingSystem: Rows<ProcessFigures> = [
  ['Name', TEXT, (figures) => figures.system().name],
  ['Version', TEXT, (figures) => figures.system().release],
  ['Arch', TEXT, (figures) => figures.system().architecture],
  ['AvailableProcessors', 'int', (figures) => figures.system().processors],
  ['SystemLoadAverage', 'double', (figures) => figures.system().load],
  ['ProcessCpuLoad', 'double', (figures) => figures.processor().usage / 100],
  ['ProcessCpuTime', 'long', (figures) => figures.processorTime().total],
  ['TotalPhysicalMemorySize', 'long', (figures) => figures.system().memoryTotal],
  ['FreePhysicalMemorySize', 'long', (figures) => figures.system().memoryFree],
  ['TotalMemorySize', 'long', (figures) => figures.system().memoryTotal],
  ['FreeMemorySize', 'long', (figures) => figures.system().memoryFree],
  ['OpenFileDescriptorCount', 'long', (figures) => figures.descriptors().used],
  ['MaxFileDescriptorCount', 'long', (figures) => figures.descriptors().max],
];

/** The web server here is one thread; the attributes are its former pool's, in lower case as they always were. */
const webServer: Rows<ProcessFigures> = [
  ['threads', 'int', () => 1],
  ['minThreads', 'int', () => 1],
  ['maxThreads', 'int', () => 1],
  ['idleThreads', 'int', () => 0],
  ['readyThreads', 'int', () => 1],
  ['busyThreads', 'int', () => 1],
  ['queueSize', 'int', () => 0],
  ['utilizationRate', 'double', (figures) => figures.utilization()],
  ['lowOnThreads', 'boolean', () => false],
  ['state', TEXT, () => 'STARTED'],
];

const directBuffers: Rows<ProcessFigures> = [
  ['Name', TEXT, () => 'direct'],
  ['Count', 'long', (figures) => figures.buffers().count],
  ['MemoryUsed', 'long', (figures) => figures.buffers().used],
  ['TotalCapacity', 'long', (figures) => figures.buffers().used],
];

const fixed: readonly (readonly [name: string, className: string, rows: Rows<ProcessFigures>])[] = [
  ['java.lang:type=Memory', 'sun.management.MemoryImpl', memory],
  ['java.lang:type=Threading', 'com.sun.management.internal.HotSpotThreadImpl', threading],
  ['java.lang:type=Runtime', 'sun.management.RuntimeImpl', runtime],
  ['java.lang:type=OperatingSystem', 'com.sun.management.internal.OperatingSystemImpl', operatingSystem],
  ['java.nio:type=BufferPool,name=direct', 'sun.management.ManagementFactoryHelper$1', directBuffers],
  [
    'org.eclipse.jetty.util.thread:type=queuedthreadpool,id=0',
    'org.eclipse.jetty.util.thread.QueuedThreadPool',
    webServer,
  ],
];

export class ProcessBeans implements BeanSource {
  readonly #beans = new Map<string, Bean>();

  /** Memory pools and collectors are those the engine has at start; neither changes while it runs. */
  constructor(figures: ProcessFigures) {
    for (const [name, className, rows] of fixed) this.#add(name, className, rows, () => figures);
    for (const { name } of figures.collectors()) {
      const collector = (): ReturnType<ProcessFigures['collectors']>[number] =>
        figures.collectors().find((candidate) => candidate.name === name)!;
      this.#add(
        `java.lang:type=GarbageCollector,name=${name}`,
        'com.sun.management.internal.GarbageCollectorExtImpl',
        [
          ['Name', TEXT, () => name],
          ['Valid', 'boolean', () => true],
          ['CollectionCount', 'long', (found) => found.count],
          ['CollectionTime', 'long', (found) => Math.round(found.totalMs)],
          ['LastGcInfo', COMPOSITE, (found) => (found.lastMs === null ? null : { duration: Math.round(found.lastMs) })],
          ['MemoryPoolNames', `[L${TEXT};`, () => figures.pools().map((pool) => pool.name)],
        ],
        collector,
      );
    }
    for (const { name } of figures.pools()) {
      this.#add(
        `java.lang:type=MemoryPool,name=${name}`,
        'sun.management.MemoryPoolImpl',
        [
          ['Name', TEXT, () => name],
          ['Type', TEXT, () => 'HEAP'],
          ['Valid', 'boolean', () => true],
          ['Usage', COMPOSITE, (found) => usage(found.usage)],
          ['PeakUsage', COMPOSITE, (found) => usage(found.peak)],
        ],
        () => figures.pools().find((pool) => pool.name === name)!,
      );
    }
  }

  find(name: ObjectName): Bean | undefined {
    return this.#beans.get(name.canonical);
  }

  beans(): Iterable<Bean> {
    return this.#beans.values();
  }

  #add<T>(text: string, className: string, rows: Rows<T>, open: () => T): void {
    const name = parseObjectName(text);
    const attributes: AttributeRow<T>[] = rows.map(([attribute, type, read]) => ({
      name: attribute,
      type,
      description: attribute,
      read,
    }));
    attributes.push({
      name: 'ObjectName',
      type: 'javax.management.ObjectName',
      description: 'ObjectName',
      read: () => ({ objectName: text }),
    });
    const kind: BeanKind<T> = {
      className,
      description: 'Information on the management interface of the MBean',
      attributes,
      operations: [],
    };
    this.#beans.set(name.canonical, createBean(name, kind, open));
  }
}

const usage = ({ init, committed, max, used }: Usage): Json => ({ init, committed, max, used });
