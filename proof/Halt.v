(* Why a run ends, and after how many sessions at most.

   A plan is seen here through eleven counters only.  What an event may do to them is the relation
   [step], one constructor for each row of the transition table; that the shipped kernel does no
   more than that is not proved here but asserted at run time and model-checked (README.md).

   Three parts, the last of which is continued in Sessions.v:

   1. Order.  Tuples of naturals compared from the left are well-founded, whatever their length.
   2. Halting.  Every row lowers the eleven-tuple.  No constant of the plan matters for this, so it
      also covers a person who raises the limits.
   3. Gauge.  With weights made of the limits, one number falls at every row: a bound on steps,
      and a first one on sessions.                                                              *)

Require Import Arith Lia Wf_nat Relations Wellfounded.

(* ---------------------------------------------------------------------------------------------- *)
(* 1. Order                                                                                       *)
(* ---------------------------------------------------------------------------------------------- *)

Fixpoint tuple (n : nat) : Type :=
  match n with 0 => unit | S n => (nat * tuple n)%type end.

Fixpoint below (n : nat) : tuple n -> tuple n -> Prop :=
  match n with
  | 0 => fun _ _ => False
  | S n => fun x y => fst x < fst y \/ (fst x = fst y /\ below n (snd x) (snd y))
  end.

(* Accessibility of (h, t): first by the head, then, for equal heads, by the tail. *)
Theorem below_well_founded : forall n, well_founded (below n).
Proof.
  induction n as [|n tails]; intros x.
  - constructor. intros y [].
  - destruct x as [h t]. revert t.
    induction h as [h heads] using (well_founded_induction lt_wf). intros t.
    induction t as [t smaller] using (well_founded_induction tails).
    constructor. intros [h' t'] [less | [same less]]; simpl in *.
    + exact (heads h' less t').
    + subst h'. exact (smaller t' less).
Qed.

Lemma below_transitive : forall n x y z, below n x y -> below n y z -> below n x z.
Proof.
  induction n as [|n IH]; simpl; [tauto|]. intros x y z H K.
  destruct H as [H | [H H']], K as [K | [K K']]; [left; lia .. |].
  right. split; [lia | exact (IH _ _ _ H' K')].
Qed.

Lemma no_descent {X : Type} (R : X -> X -> Prop) :
  well_founded R -> ~ exists f : nat -> X, forall i, R (f (S i)) (f i).
Proof.
  intros wf [f falls].
  enough (forall x i, x = f i -> False) as none by exact (none (f 0) 0 eq_refl).
  intros x. induction x as [x IH] using (well_founded_induction wf).
  intros i ->. exact (IH _ (falls i) (S i) eq_refl).
Qed.

(* ---------------------------------------------------------------------------------------------- *)
(* The table                                                                                      *)
(* ---------------------------------------------------------------------------------------------- *)

Record state := mk {
  E : nat;  (* redirects left *)
  L : nat;  (* forgiven sessions left *)
  W : nat;  (* winds left *)
  V : nat;  (* verification rounds left *)
  F : nat;  (* fuel: atoms that may still be created *)
  J : nat;  (* backjumps left *)
  C : nat;  (* choices not failed and not buried, written or not *)
  A : nat;  (* attempts and probes left, over unresolved, unburied leaves *)
  Q : nat;  (* unresolved, unburied atoms and groups, and the root *)
  I : nat;  (* sessions in flight *)
  T : nat   (* 1 while running *)
}.

Inductive row :=
| SessionStarted | VerificationStarted
| AtomResolved | AttemptFailed | ProbeEnded | SessionReaped | DeclaredInfeasible
| SessionForgiven | VerificationForgiven | InterruptionCharged
| ChoiceFailed | ChoiceFailedUnreplayed | Backjumped | WindBegan
| Decomposed | AlternativesJoined | AlternativesGrouped
| FixesAdded | FixesAddedByPerson | VerificationEnded
| Joined | Written
| RunEnded | Redirected | RedirectedRaising.

(* One goal for each row that H may be. *)
Ltac rows H := inversion H; subst; simpl in *; clear H.

Section Kernel.

(* The limits: attempts (in any wind) and probes of one atom at most, atoms ever, rounds, backjumps,
   pool, winds. *)
Variables a p N V0 J0 L0 W0 : nat.

(* Primed names are values after; what a row does not mention keeps its value. *)
Inductive step : row -> state -> state -> Prop :=
| session_started s A' :
    T s = 1 -> A s = 1 + A' ->
    step SessionStarted s (mk (E s) (L s) (W s) (V s) (F s) (J s) (C s) A' (Q s) (1 + I s) (T s))
| verification_started s V' :
    T s = 1 -> V s = 1 + V' ->
    step VerificationStarted s (mk (E s) (L s) (W s) V' (F s) (J s) (C s) (A s) (Q s) (1 + I s) (T s))
| atom_resolved s A' Q' I' :                          (* the leaf, and groups decided by it *)
    A' <= A s -> Q' < Q s -> I s = 1 + I' ->
    step AtomResolved s (mk (E s) (L s) (W s) (V s) (F s) (J s) (C s) A' Q' I' (T s))
| attempt_failed s I' :                               (* bad evidence, timeout, dead agent *)
    I s = 1 + I' ->
    step AttemptFailed s (mk (E s) (L s) (W s) (V s) (F s) (J s) (C s) (A s) (Q s) I' (T s))
| probe_ended s I' :
    I s = 1 + I' ->
    step ProbeEnded s (mk (E s) (L s) (W s) (V s) (F s) (J s) (C s) (A s) (Q s) I' (T s))
| session_reaped s I' :                               (* its branch is not live any more *)
    I s = 1 + I' ->
    step SessionReaped s (mk (E s) (L s) (W s) (V s) (F s) (J s) (C s) (A s) (Q s) I' (T s))
| declared_infeasible s A' I' :                       (* the attempts left are used up *)
    A' <= A s -> I s = 1 + I' ->
    step DeclaredInfeasible s (mk (E s) (L s) (W s) (V s) (F s) (J s) (C s) A' (Q s) I' (T s))
| session_forgiven s L' A' I' :
    L s = 1 + L' -> A' <= 1 + A s -> I s = 1 + I' ->
    step SessionForgiven s (mk (E s) L' (W s) (V s) (F s) (J s) (C s) A' (Q s) I' (T s))
| verification_forgiven s L' I' :
    L s = 1 + L' -> I s = 1 + I' ->
    step VerificationForgiven s (mk (E s) L' (W s) (1 + V s) (F s) (J s) (C s) (A s) (Q s) I' (T s))
| interruption_charged s I' :
    L s = 0 -> I s = 1 + I' ->
    step InterruptionCharged s (mk (E s) (L s) (W s) (V s) (F s) (J s) (C s) (A s) (Q s) I' (T s))
| choice_failed s C' A' Q' I' :                       (* what is buried is counted no more *)
    C' < C s -> A' <= A s -> Q' <= Q s -> I' <= I s ->
    step ChoiceFailed s (mk (E s) (L s) (W s) (V s) (F s) (J s) C' A' Q' I' (T s))
| choice_failed_unreplayed s J' C' A' Q' I' :         (* others lost their work: they reopen *)
    J s = 1 + J' -> C' < C s ->
    A' <= A s + N * (a + p) -> Q' <= Q s + 2 * N + 1 -> I' <= I s ->
    step ChoiceFailedUnreplayed s (mk (E s) (L s) (W s) (V s) (F s) J' C' A' Q' I' (T s))
| backjumped s J' C' A' Q' I' :
    J s = 1 + J' -> C' < C s ->
    A' <= A s + N * (a + p) -> Q' <= Q s + 2 * N + 1 -> I' <= I s ->
    step Backjumped s (mk (E s) (L s) (W s) (V s) (F s) J' C' A' Q' I' (T s))
| wind_began s W' V' J' C' A' Q' :                    (* fuel and what stands left is left alone *)
    T s = 1 -> W s = 1 + W' -> V' <= V0 -> J' <= J0 -> C' <= N ->
    A' <= N * (a + p) -> Q' <= 2 * N + 1 ->
    step WindBegan s (mk (E s) (L s) W' V' (F s) J' C' A' Q' (I s) (T s))
| decomposed s k F' A' Q' I' :
    1 <= k -> F s = k + F' ->
    A' <= A s + k * (a + p) -> Q' <= Q s + k -> I s = 1 + I' ->
    step Decomposed s (mk (E s) (L s) (W s) (V s) F' (J s) (C s) A' Q' I' (T s))
| alternatives_joined s k F' C' A' Q' I' :            (* the proposer's group gets k, loses it *)
    1 <= k -> F s = k + F' -> 1 + C' <= C s + k ->
    A' <= A s + k * (a + p) -> Q' <= Q s + k -> I s = 1 + I' ->
    step AlternativesJoined s (mk (E s) (L s) (W s) (V s) F' (J s) C' A' Q' I' (T s))
| alternatives_grouped s k F' C' A' Q' I' :           (* a group of k + 1, its first one failed *)
    1 <= k -> F s = k + F' -> C' <= C s + k ->
    A' <= A s + k * (a + p) -> Q' <= Q s + k + 1 -> I s = 1 + I' ->
    step AlternativesGrouped s (mk (E s) (L s) (W s) (V s) F' (J s) C' A' Q' I' (T s))
| fixes_added s k F' A' Q' I' :                       (* the root is open again, hence + 1 *)
    1 <= k -> F s = k + F' ->
    A' <= A s + k * (a + p) -> Q' <= Q s + k + 1 -> I s = 1 + I' ->
    step FixesAdded s (mk (E s) (L s) (W s) (V s) F' (J s) (C s) A' Q' I' (T s))
| fixes_added_by_person s k F' A' Q' :                (* a "no" to an assertion: no session ends *)
    1 <= k -> F s = k + F' ->
    A' <= A s + k * (a + p) -> Q' <= Q s + k + 1 ->
    step FixesAddedByPerson s (mk (E s) (L s) (W s) (V s) F' (J s) (C s) A' Q' (I s) (T s))
| verification_ended s I' :                           (* passed, or nothing was added *)
    I s = 1 + I' ->
    step VerificationEnded s (mk (E s) (L s) (W s) (V s) (F s) (J s) (C s) (A s) (Q s) I' (T s))
| joined s Q' :                                       (* all children resolved, a race decided *)
    Q' < Q s ->
    step Joined s (mk (E s) (L s) (W s) (V s) (F s) (J s) (C s) (A s) Q' (I s) (T s))
| written s F' A' Q' :                                (* a named alternative became an atom *)
    F s = 1 + F' -> A' <= A s + (a + p) -> Q' <= Q s + 1 ->
    step Written s (mk (E s) (L s) (W s) (V s) F' (J s) (C s) A' Q' (I s) (T s))
| run_ended s C' A' Q' :                              (* the last choice may fail with it *)
    T s = 1 -> I s = 0 -> C' <= C s -> A' <= A s -> Q' <= Q s ->
    step RunEnded s (mk (E s) (L s) (W s) (V s) (F s) (J s) C' A' Q' 0 0)
| redirected s n E' L' W' V' F' J' C' A' Q' :         (* n atoms then, and everything in limits *)
    E s = 1 + E' -> n + F' <= N -> L' <= L0 -> W' <= W0 -> V' <= V0 -> J' <= J0 ->
    C' <= N -> A' <= n * (a + p) -> Q' <= 2 * n + 1 ->
    step Redirected s (mk E' L' W' V' F' J' C' A' Q' 0 1)
| redirected_raising s E' L' W' V' F' J' C' A' Q' I' T' : (* beyond the limits of this section *)
    E s = 1 + E' ->
    step RedirectedRaising s (mk E' L' W' V' F' J' C' A' Q' I' T').

(* The only thing that may happen and is no step: a person says `run`. *)
Inductive resume : state -> state -> Prop :=
| run_again s : T s = 0 ->
    resume s (mk (E s) (L s) (W s) (V s) (F s) (J s) (C s) (A s) (Q s) (I s) 1).

Definition settles (r : row) : bool := match r with Joined | Written => true | _ => false end.
Definition starts (r : row) : bool :=
  match r with SessionStarted | VerificationStarted => true | _ => false end.
Definition raises (r : row) : bool := match r with RedirectedRaising => true | _ => false end.
Definition redirects (r : row) : bool :=
  match r with Redirected | RedirectedRaising => true | _ => false end.

Definition any_step s s' := exists r, step r s s'.

(* What the kernel applies at once: one row, then consequences until nothing more follows. *)
Inductive settled : nat -> state -> state -> Prop :=
| settled_none s : settled 0 s s
| settled_more n r s s1 s2 :
    settles r = true -> step r s s1 -> settled n s1 s2 -> settled (S n) s s2.

Definition event r n s s' := exists s1, step r s s1 /\ settled n s1 s'.

(* ---------------------------------------------------------------------------------------------- *)
(* 2. Halting                                                                                     *)
(* ---------------------------------------------------------------------------------------------- *)

Definition ten s : tuple 10 :=
  (E s, (L s, (W s, (V s, (F s, (J s, (C s, (A s, (Q s, (I s, tt)))))))))).
Definition measure s : tuple 11 :=
  (E s, (L s, (W s, (V s, (F s, (J s, (C s, (A s, (Q s, (I s, (T s, tt))))))))))).

Definition falls s s' := below 11 (measure s') (measure s).

Theorem every_step_falls : forall r s s', step r s s' -> falls s s'.
Proof. intros r s s' H. rows H; unfold falls; simpl; lia. Qed.

Theorem step_well_founded : well_founded (fun s' s => any_step s s').
Proof.
  apply (wf_incl _ _ (fun x y => below 11 (measure x) (measure y))).
  - intros x y [r H]. exact (every_step_falls r y x H).
  - apply (wf_inverse_image _ _ (below 11) measure), below_well_founded.
Qed.

Theorem no_endless_run : ~ exists f : nat -> state, forall i, any_step (f i) (f (S i)).
Proof. exact (no_descent _ step_well_founded). Qed.

(* An event, which is several steps at once, falls as well. *)
Lemma settled_falls : forall n s s', settled n s s' -> s' = s \/ falls s s'.
Proof.
  induction 1 as [s | n r s s1 s2 _ H _ IH]; [left; reflexivity | right].
  apply every_step_falls in H. destruct IH as [-> | IH]; [exact H|].
  exact (below_transitive 11 _ _ _ IH H).
Qed.

Theorem every_event_falls : forall r n s s', event r n s s' -> falls s s'.
Proof.
  intros r n s s' (s1 & H & K). apply every_step_falls in H.
  apply settled_falls in K. destruct K as [-> | K]; [exact H|].
  exact (below_transitive 11 _ _ _ K H).
Qed.

Theorem steps_compose : forall s s', clos_trans _ any_step s s' -> falls s s'.
Proof.
  induction 1 as [s s' [r H] | s m s' _ IH1 _ IH2].
  - exact (every_step_falls r s s' H).
  - exact (below_transitive 11 _ _ _ IH2 IH1).
Qed.

(* `run again` lifts T, so it can be repeated for ever; sessions cannot.  Nothing that may happen
   raises the ten other counters, and a start lowers them: however often a person says `run`,
   and whatever limits a redirect sets, there is no endless supply of sessions. *)
Definition happens s s' := any_step s s' \/ resume s s'.
Definition next_start s s' := exists m r,
  clos_refl_trans _ happens s m /\ starts r = true /\ step r m s'.

Lemma ten_never_rises : forall s s', happens s s' -> ten s' = ten s \/ below 10 (ten s') (ten s).
Proof.
  intros s s' [[r H] | H].
  - rows H; unfold ten; simpl; try (right; lia).
    destruct (Nat.eq_dec C' (C s)) as [-> |]; [|right; lia].
    destruct (Nat.eq_dec A' (A s)) as [-> |]; [|right; lia].
    destruct (Nat.eq_dec Q' (Q s)) as [-> |]; [|right; lia].
    left. repeat f_equal; lia.
  - rows H. left. reflexivity.
Qed.

Theorem starts_well_founded : well_founded (fun s' s => next_start s s').
Proof.
  apply (wf_incl _ _ (fun x y => below 10 (ten x) (ten y))).
  - intros x y (m & r & Hm & Hr & H).
    assert (below 10 (ten x) (ten m)) as down by (rows H; try discriminate; simpl; lia).
    assert (ten m = ten y \/ below 10 (ten m) (ten y)) as [<- | more]; [|exact down|].
    + clear - Hm. induction Hm as [y m H | y | y m x _ IH1 _ IH2].
      * exact (ten_never_rises y m H).
      * left. reflexivity.
      * destruct IH1 as [e1 | l1], IH2 as [e2 | l2].
        -- left. congruence.
        -- right. rewrite <- e1. exact l2.
        -- right. rewrite e2. exact l1.
        -- right. exact (below_transitive 10 _ _ _ l2 l1).
    + exact (below_transitive 10 _ _ _ down more).
  - apply (wf_inverse_image _ _ (below 10) ten), below_well_founded.
Qed.

Theorem no_endless_sessions : ~ exists f : nat -> state, forall i, next_start (f i) (f (S i)).
Proof. exact (no_descent _ starts_well_founded). Qed.

(* ---------------------------------------------------------------------------------------------- *)
(* 3. Gauge                                                                                       *)
(* ---------------------------------------------------------------------------------------------- *)

Definition wF := 2 * (a + p) + 3.                 (* a new atom: its sessions, itself, the root *)
Definition wJ := 2 * N * (a + p + 1) + 1.         (* every atom may get its sessions back *)
Definition wW := N * (2 * (a + p) + 3) + wJ * J0 + 2 * V0 + 2.   (* a wind refills nearly all *)
Definition wE := (wF + 1) * N + wJ * J0 + 2 * V0 + wW * W0 + 2 * L0 + 3.

Definition rest s :=
  E s * wE + 2 * L s + wW * W s + 2 * V s + wF * F s + wJ * J s + C s + 2 * A s + Q s + I s.
Definition gauge s := rest s + T s.

(* Products of two unknowns that the rows need, as equations, so that linear arithmetic can end. *)
Ltac weigh :=
  unfold gauge, rest in *; simpl in *;
  repeat match goal with H : E _ = _ |- _ => rewrite H in * | H : F _ = _ |- _ => rewrite H in *
                       | H : J _ = _ |- _ => rewrite H in * | H : W _ = _ |- _ => rewrite H in * end.

Lemma within : forall w x limit, x <= limit -> w * x <= w * limit.
Proof. intros. apply Nat.mul_le_mono_l. assumption. Qed.

Ltac in_limits :=
  repeat match goal with
    | H : ?n + ?f <= N |- _ => pose proof (within (a + p) _ _ H); revert H
    | H : ?j <= J0 |- _ => pose proof (within wJ _ _ H); revert H
    | H : ?w <= W0 |- _ => pose proof (within wW _ _ H); revert H
  end; intros; unfold wE, wW, wF, wJ in *.

Theorem every_step_lowers_gauge : forall r s s',
  raises r = false -> step r s s' -> gauge s' + 1 <= gauge s.
Proof.
  intros r s s' Hr H. rows H; try discriminate; weigh; in_limits; try lia.
Qed.

(* Steps and `run again`s in any order, counted. *)
Inductive run : nat -> nat -> state -> state -> Prop :=
| run_nothing s : run 0 0 s s
| run_step n m r s s1 s2 :
    raises r = false -> step r s s1 -> run n m s1 s2 -> run (S n) m s s2
| run_resume n m s s1 s2 : resume s s1 -> run n m s1 s2 -> run n (S m) s s2.

Theorem steps_bounded : forall n m s s', run n m s s' -> n + gauge s' <= gauge s + m.
Proof.
  induction 1 as [s | n m r s s1 s2 Hr H _ IH | n m s s1 s2 H _ IH]; [lia | |].
  - apply every_step_lowers_gauge in H; [lia | exact Hr].
  - rows H. unfold gauge, rest in *. simpl in *. lia.
Qed.

Theorem event_lowers_gauge : forall r n s s',
  raises r = false -> event r n s s' -> gauge s' + n + 1 <= gauge s.
Proof.
  intros r n s s' Hr (s1 & H & K). apply every_step_lowers_gauge in H; [|exact Hr].
  enough (gauge s' + n <= gauge s1) by lia. clear - K.
  induction K as [| n r s s1 s2 Hr H _ IH]; [lia|].
  apply every_step_lowers_gauge in H; [lia | destruct r; easy].
Qed.

(* The gauge without T bounds the session starts, whatever the number of resumes. *)
Inductive counted : nat -> state -> state -> Prop :=
| counted_nothing s : counted 0 s s
| counted_start n r s s1 s2 :
    starts r = true -> step r s s1 -> counted n s1 s2 -> counted (S n) s s2
| counted_other n r s s1 s2 :
    starts r = false -> raises r = false -> step r s s1 -> counted n s1 s2 -> counted n s s2
| counted_resume n s s1 s2 : resume s s1 -> counted n s1 s2 -> counted n s s2.

Lemma rest_of_step : forall r s s',
  raises r = false -> step r s s' -> rest s' + (if starts r then 1 else 0) <= rest s.
Proof.
  intros r s s' Hr H. rows H; try discriminate; weigh; in_limits; try lia.
Qed.

Theorem starts_bounded_by_gauge : forall n s s', counted n s s' -> n + rest s' <= rest s.
Proof.
  induction 1 as [s | n r s s1 s2 Hs H _ IH | n r s s1 s2 Hs Hr H _ IH | n s s1 s2 H _ IH]; [lia|..].
  - apply rest_of_step in H; [rewrite Hs in H; lia | destruct r; easy].
  - apply rest_of_step in H; [rewrite Hs in H; lia | exact Hr].
  - rows H. unfold rest in *. simpl in *. lia.
Qed.

End Kernel.

Print Assumptions below_well_founded.
Print Assumptions every_step_falls.
Print Assumptions step_well_founded.
Print Assumptions no_endless_run.
Print Assumptions every_event_falls.
Print Assumptions steps_compose.
Print Assumptions starts_well_founded.
Print Assumptions no_endless_sessions.
Print Assumptions every_step_lowers_gauge.
Print Assumptions event_lowers_gauge.
Print Assumptions steps_bounded.
Print Assumptions starts_bounded_by_gauge.
