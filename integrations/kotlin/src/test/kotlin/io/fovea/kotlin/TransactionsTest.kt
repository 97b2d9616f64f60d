package io.fovea.kotlin

import io.fovea.Database
import io.fovea.ObjectSpec
import io.fovea.Options
import io.fovea.ScanOrder
import io.fovea.Table
import io.fovea.Task
import io.fovea.TxOptions
import io.fovea.junit.FoveaDatabase
import io.fovea.junit.OptionsCustomizer
import java.io.IOException
import java.time.Duration
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test

/**
 * Bodies of transactions as lambdas.
 *
 * Kotlin can't infer the type of the exception of a body, because it has no checked exceptions. It
 * is written at the call, and any exception passes, whatever that type is.
 */
class TransactionsTest {
  @JvmRecord
  data class Account(val owner: String, val balance: Long)

  class Small : OptionsCustomizer {
    override fun customize(options: Options): Options =
        options.bufferBytes(8L shl 20).transactions { it.timeout(Duration.ofMinutes(1)) }
  }

  @FoveaDatabase(options = Small::class)
  private lateinit var db: Database

  private lateinit var accounts: Table<Long, Account>

  @BeforeEach
  fun fill() {
    accounts = db.table(ACCOUNTS)
    db.run<RuntimeException> { tx ->
      accounts.insert(tx, 1, Account("Ada", 10))
      accounts.insert(tx, 2, Account("Bob", 0))
    }
  }

  @Test
  fun runCallAndRead() {
    db.run<RuntimeException>("transfer") { tx ->
      accounts.update(tx, 1) { it.copy(balance = it.balance - 3) }
      accounts.update(tx, 2) { it.copy(balance = it.balance + 3) }
    }
    val ofBob: Long? = db.call<_, RuntimeException> { tx -> accounts.get(tx, 2)?.balance }
    val nobody: Account? = db.read<_, RuntimeException> { tx -> accounts.get(tx, 3) }
    val ofAda: Long =
        db.read<Long, RuntimeException>("balance") { tx -> accounts.find(tx, 1).get().balance }
    assertEquals(3L, ofBob)
    assertEquals(7L, ofAda)
    assertNull(nobody)
  }

  @Test
  fun tasksNeedNoType() {
    db.run(Task { tx -> accounts.delete(tx, 1) })
    assertEquals(setOf(2L), accounts.asMap().keys)
  }

  @Test
  fun optionsAndHandles() {
    val options = TxOptions.defaults().name("delete").attemptsMax(3)
    db.run<RuntimeException>(options) { tx -> accounts.delete(tx, 1) }
    db.runPipelined<RuntimeException> { tx -> accounts.delete(tx, 2) }.await()
    val size = db.submit<_, RuntimeException> { tx -> accounts.stream(tx).count() }
    assertEquals(0L, size.toCompletableFuture().join())
  }

  @Test
  fun scans() {
    val owners =
        db.read<_, RuntimeException> { tx ->
          accounts.scan(tx, null, null, ScanOrder.DESCENDING).use { cursor ->
            buildList {
              while (cursor.next()) {
                add(cursor.value().owner)
              }
            }
          }
        }
    assertEquals(listOf("Bob", "Ada"), owners)
  }

  /** Whatever type the call names. */
  @Test
  fun exceptionsRollBackAndPass() {
    val thrown =
        assertThrows(IOException::class.java) {
          db.run<RuntimeException> { tx ->
            accounts.delete(tx, 1)
            throw IOException("checked in Java")
          }
        }
    assertEquals("checked in Java", thrown.message)
    assertEquals(2, accounts.asMap().size)
  }

  @Test
  fun listeners() {
    val events = mutableListOf<String>()
    db.run<RuntimeException> { tx -> tx.afterCommit { events += "committed" } }
    db.onClose { events += "closed" }
    db.close()
    assertEquals(listOf("committed", "closed"), events)
    assertTrue(!db.isOpen)
  }

  private companion object {
    val ACCOUNTS: ObjectSpec<Long, Account> =
        ObjectSpec.of("accounts", Long::class.javaObjectType, Account::class.java)
  }
}
