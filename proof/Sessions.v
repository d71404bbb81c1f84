(* How many sessions there can still be: the bound that is shown to people.

   The gauge of Halt.v pays for every step.  A person asks about sessions only, so here nothing but
   a session start has to pay, and the number gets much smaller.  Beside the eleven counters it needs
   three quantities of the plan ([shade]).

   Two readings of [refill] and [fewest] are sound, so the smaller of the two bounds holds:
   - refill = the sum of the attempts that each leaf may have, fewest = the least of them;
   - refill = leaves * a, fewest = a, with a the most that any leaf may have.                     *)

Require Import Arith Lia.
Require Import Halt.

Section Sessions.

(* The limits, and the fewest attempts that any leaf has. *)
Variables a p N V0 J0 L0 W0 fewest : nat.

Local Notation step := (Halt.step a p N V0 J0 L0 W0).

Record shade := sh {
  untried : nat;  (* over unburied groups: choices not failed, but for one *)
  refill : nat;   (* attempts that all unburied written leaves would have if none were used *)
  dormant : nat   (* probes left on resolved, unburied leaves: they count again when reopened *)
}.

(* What each row may do to the shade of a plan. *)
Definition shades (r : row) (s s' : state) (h h' : shade) : Prop :=
  match r with
  | AtomResolved =>       (* probes that the leaf did not use fall asleep *)
      untried h' <= untried h /\ refill h' <= refill h /\ dormant h' + A s' <= dormant h + A s
  | Backjumped | ChoiceFailedUnreplayed =>
      (* the group had an untried choice; at least one leaf is buried; at most all others are
         filled up, and sleeping probes wake *)
      untried h' + 1 <= untried h /\ refill h' + fewest <= refill h /\
      A s' + dormant h' <= A s + dormant h + refill h'
  | Decomposed | FixesAdded | FixesAddedByPerson | Written =>
      untried h' <= untried h /\ refill h' + a * F s' <= refill h + a * F s /\
      dormant h' <= dormant h
  | AlternativesJoined | AlternativesGrouped =>      (* k more, and the proposer is given up *)
      untried h' + F s' + 1 <= untried h + F s /\ refill h' + a * F s' <= refill h + a * F s /\
      dormant h' <= dormant h
  | Redirected | WindBegan => exists n, n + F s' <= N /\
      refill h' <= n * a /\ A s' + dormant h' <= n * (a + p)
  | RedirectedRaising => True
  | _ => untried h' <= untried h /\ refill h' <= refill h /\ dormant h' <= dormant h
  end.

(* Backjumps that can still happen: there must be one left, and a choice to take.  Proposing k
   alternatives gains k - 1 untried choices, because the proposer fails. *)
Definition jumps s h := min (J s) (untried h + (F s - 1)).

(* All refills together: each of n jumps buries one more leaf before it fills the others up. *)
Fixpoint refills (n pool : nat) : nat :=
  match n with 0 => 0 | S n => (pool - fewest) + refills n (pool - fewest) end.

(* What one wind can bring: every atom there may be, all rounds, all backjumps. *)
Definition of_wind := (a + p) * N + V0 + refills J0 (a * N).

Definition within s h :=
  A s + (a + p) * F s + V s + L s
  + (if jumps s h =? 0 then 0 else dormant h)
  + refills (jumps s h) (refill h + a * F s).

Definition bound s h := within s h + W s * of_wind.

(* The same sum as it is usually written: over j from 1 to n, pool - j * fewest. *)
Fixpoint sum (n : nat) (f : nat -> nat) : nat := match n with 0 => 0 | S m => sum m f + f n end.

Lemma sum_shift : forall n f, sum (S n) f = f 1 + sum n (fun j => f (S j)).
Proof. induction n as [|n IH]; intros f; [simpl; lia|]. change (sum (S (S n)) f) with
  (sum (S n) f + f (S (S n))). rewrite IH. simpl. lia. Qed.

Lemma sum_same : forall n f g, (forall j, f j = g j) -> sum n f = sum n g.
Proof. induction n; intros f g H; simpl; [reflexivity|]. rewrite (IHn f g H), H. reflexivity. Qed.

Theorem refills_is_sum : forall n pool, refills n pool = sum n (fun j => pool - j * fewest).
Proof.
  induction n as [|n IH]; intros pool; [reflexivity|].
  rewrite sum_shift. simpl refills. rewrite IH. f_equal; [lia|].
  apply sum_same. intros j. lia.
Qed.

Lemma refills_monotone : forall n n' pool pool',
  n <= n' -> pool <= pool' -> refills n pool <= refills n' pool'.
Proof.
  induction n as [|n IH]; intros n' pool pool' Hn Hp; simpl; [lia|].
  destruct n' as [|n']; [lia|]. simpl.
  specialize (IH n' (pool - fewest) (pool' - fewest)). lia.
Qed.

Lemma bound_monotone : forall d s h s' h',
  W s' = W s -> jumps s' h' <= jumps s h ->
  refill h' + a * F s' <= refill h + a * F s ->
  A s' + dormant h' + (a + p) * F s' + V s' + L s' + d
    <= A s + dormant h + (a + p) * F s + V s + L s ->
  A s' + (a + p) * F s' + V s' + L s' + d <= A s + (a + p) * F s + V s + L s ->
  bound s' h' + d <= bound s h.
Proof.
  intros d s h s' h' HW Hj Hr Hd Hn. unfold bound, within. rewrite HW.
  pose proof (refills_monotone _ _ _ _ Hj Hr).
  destruct (Nat.eqb_spec (jumps s h) 0), (Nat.eqb_spec (jumps s' h') 0); lia.
Qed.

Lemma bound_of_jump : forall s h s' h',
  W s' = W s -> J s = 1 + J s' -> F s' = F s -> V s' = V s -> L s' = L s ->
  untried h' + 1 <= untried h -> refill h' + fewest <= refill h ->
  A s' + dormant h' <= A s + dormant h + refill h' ->
  bound s' h' <= bound s h.
Proof.
  intros s h s' h' HW HJ HF HV HL Hu Hr HA. unfold bound, within. rewrite HW.
  assert (jumps s' h' + 1 <= jumps s h) as Hj by (unfold jumps; lia).
  destruct (jumps s h) as [|n]; [lia|].
  change (S n =? 0) with false. cbv iota. simpl refills.
  pose proof (refills_monotone (jumps s' h') n
    (refill h' + a * F s') (refill h + a * F s - fewest) ltac:(lia) ltac:(rewrite HF; lia)).
  rewrite HF, HV, HL in *. destruct (jumps s' h' =? 0); lia.
Qed.

(* Whatever a wind or a redirect has filled up is within the limits. *)
Lemma within_refilled : forall s h n,
  n + F s <= N -> V s <= V0 -> J s <= J0 -> refill h <= n * a -> A s + dormant h <= n * (a + p) ->
  within s h <= of_wind + L s.
Proof.
  intros s h n Hn HV HJ Hr HA.
  assert ((n + F s) * a <= N * a) by (apply Nat.mul_le_mono_r; exact Hn).
  assert ((n + F s) * (a + p) <= N * (a + p)) by (apply Nat.mul_le_mono_r; exact Hn).
  assert (refills (jumps s h) (refill h + a * F s) <= refills J0 (a * N))
    by (apply refills_monotone; [unfold jumps; lia | lia]).
  unfold within, of_wind. destruct (jumps s h =? 0); lia.
Qed.

Lemma bound_of_wind : forall s s' h h',
  step WindBegan s s' -> shades WindBegan s s' h h' -> bound s' h' <= bound s h.
Proof.
  intros s s' h h' H (n & Hn & Hr & HA).
  assert (W s = 1 + W s' /\ L s' = L s /\ V s' <= V0 /\ J s' <= J0) as (HW & HL & HV & HJ)
    by (rows H; lia).
  pose proof (within_refilled s' h' n Hn HV HJ Hr HA).
  assert (L s <= within s h) by (unfold within; lia).
  unfold bound. rewrite HW. simpl. lia.
Qed.

Theorem bound_falls_at_starts : forall r s s' h h',
  redirects r = false -> step r s s' -> shades r s s' h h' ->
  bound s' h' + (if starts r then 1 else 0) <= bound s h.
Proof.
  intros r s s' h h' Hr H K.
  destruct r; try discriminate; simpl starts; cbv iota.
  all: try (rewrite Nat.add_0_r; exact (bound_of_wind _ _ _ _ H K)).
  all: simpl in K; destruct K as (Hu & Hp & Hd).
  all: try (rewrite Nat.add_0_r; apply bound_of_jump; solve [rows H; lia]).
  all: apply bound_monotone; [|unfold jumps| ..].
  all: rows H; repeat match goal with e : F _ = _ |- _ => rewrite e in * end; lia.
Qed.

(* A redirect starts afresh, within the limits. *)
Definition afresh := (1 + W0) * of_wind + L0.

Theorem bound_of_redirect : forall s s' h h',
  step Redirected s s' -> shades Redirected s s' h h' -> bound s' h' <= afresh.
Proof.
  intros s s' h h' H (n & Hn & Hr & HA).
  assert (W s' <= W0 /\ V s' <= V0 /\ L s' <= L0 /\ J s' <= J0) as (HW & HV & HL & HJ)
    by (rows H; lia).
  pose proof (within_refilled s' h' n Hn HV HJ Hr HA).
  assert (W s' * of_wind <= W0 * of_wind) by (apply Nat.mul_le_mono_r; exact HW).
  unfold bound, afresh. lia.
Qed.

(* A run with its shades: how many sessions were started in it. *)
Inductive watched : nat -> state -> shade -> state -> shade -> Prop :=
| watched_nothing s h : watched 0 s h s h
| watched_step n r s h s1 h1 s2 h2 :
    raises r = false -> step r s s1 -> shades r s s1 h h1 -> watched n s1 h1 s2 h2 ->
    watched ((if starts r then 1 else 0) + n) s h s2 h2
| watched_resume n s h s1 s2 h2 : resume s s1 -> watched n s1 h s2 h2 -> watched n s h s2 h2.

Theorem sessions_bounded : forall n s h s' h',
  watched n s h s' h' -> n + bound s' h' + E s' * afresh <= bound s h + E s * afresh.
Proof.
  induction 1 as [s h | n r s h s1 h1 s2 h2 Hr H K _ IH | n s h s1 s2 h2 H _ IH]; [lia | |].
  - destruct (redirects r) eqn:red.
    + destruct r; try discriminate. pose proof (bound_of_redirect _ _ _ _ H K).
      assert (E s = 1 + E s1) as -> by (rows H; lia). simpl starts. cbv iota. lia.
    + pose proof (bound_falls_at_starts _ _ _ _ _ red H K).
      assert (E s1 = E s) as e by (rows H; easy). rewrite e in IH. lia.
  - rows H. unfold bound, within, jumps in *. simpl in *. lia.
Qed.

(* Without a redirect: what is shown to people. *)
Corollary sessions_without_redirect : forall n s h s' h',
  watched n s h s' h' -> E s' = E s -> n <= bound s h.
Proof. intros n s h s' h' H e. apply sessions_bounded in H. rewrite e in H. lia. Qed.

End Sessions.

(* Probes asleep on resolved leaves must be counted: without them the bound would rise.  One group
   with two racing choices, a leaf that waits for it, one that waits for that; a backjump.  The
   numbers are those of a plan that tests/proof builds. *)
Definition without_dormant a p fewest s h := within a p fewest s (sh (untried h) (refill h) 0).

Example dormant_is_needed :
  let s := mk 0 0 0 1 0 1 2 2 3 0 1 in let h := sh 1 4 2 in
  let s' := mk 0 0 0 1 0 0 1 6 5 0 1 in let h' := sh 0 3 0 in
  step 1 1 4 1 1 0 0 Backjumped s s' /\ shades 1 1 4 1 Backjumped s s' h h' /\
  without_dormant 1 1 1 s h = 6 /\ without_dormant 1 1 1 s' h' = 7 /\
  within 1 1 1 s h = 8 /\ within 1 1 1 s' h' = 7.
Proof.
  repeat split; try (simpl; lia).
  apply (backjumped 1 1 4 1 1 0 0 (mk 0 0 0 1 0 1 2 2 3 0 1) 0 1 6 5 0); simpl; lia.
Qed.

Print Assumptions refills_is_sum.
Print Assumptions bound_falls_at_starts.
Print Assumptions bound_of_redirect.
Print Assumptions sessions_bounded.
Print Assumptions sessions_without_redirect.
Print Assumptions dormant_is_needed.
