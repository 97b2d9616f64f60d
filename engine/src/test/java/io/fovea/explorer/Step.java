package io.fovea.explorer;

/** One operation of a feature, done by one worker. */
@FunctionalInterface
interface Step {
  void run(Life life, Worker worker) throws Exception;
}
