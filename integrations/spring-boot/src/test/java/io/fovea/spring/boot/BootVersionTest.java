package io.fovea.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringBootVersion;

class BootVersionTest {
  @Test
  void versionIsTheOneUnderTest() {
    assertEquals(System.getProperty("boot.expected"), SpringBootVersion.getVersion());
  }
}
