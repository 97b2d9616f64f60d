package io.fovea.ratis;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Ports for peers: below those that the kernel gives to connections, so that none takes that of a
 * peer which is started again. Any thread.
 */
public final class Ports {
  private static final int FIRST = 12_000;
  private static final int COUNT = 18_000;
  private static final AtomicInteger NEXT = new AtomicInteger(new Random().nextInt(COUNT));

  private Ports() {}

  /** One that nobody listens at, and that was not given before. */
  public static int next() {
    while (true) {
      int port = FIRST + NEXT.getAndIncrement() % COUNT;
      try (ServerSocket s = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return s.getLocalPort();
      } catch (IOException e) {
        // somebody has it
      }
    }
  }
}
