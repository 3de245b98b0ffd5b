// How long work takes that tests bound: in time of the processor, which other processes take none of.

/** Tells how many milliseconds of the processor's time this process has taken since. */
export function processorTime(): () => number {
  const began = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1000;
  };
}
