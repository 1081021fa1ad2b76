	.text
	.p2align 4
	.globl	__tvm_ffi_main
	.type	__tvm_ffi_main, @function
__tvm_ffi_main:
.LFB0:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rdi, %r9
	xorl	%r8d, %r8d
	movq	%rdx, %rdi
	leaq	16384(%rsi), %r11
	vxorps	%xmm8, %xmm8, %xmm8
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rbx
	andq	$-32, %rsp
	subq	$136, %rsp
	.cfi_offset 3, -24
.L2:
	movq	%r11, %rcx
	leaq	(%r9,%r8,4), %rbx
	movq	%rdi, %rsi
	xorl	%r10d, %r10d
.L6:
	vxorps	%xmm7, %xmm7, %xmm7
	vmovaps	%ymm8, 72(%rsp)
	movq	%rbx, %rax
	leaq	-16384(%rcx), %rdx
	vmovaps	%ymm8, 104(%rsp)
	vmovaps	%ymm7, %ymm6
	vmovaps	%ymm7, %ymm5
	vmovaps	%ymm7, %ymm4
	vmovaps	%ymm7, %ymm3
	vmovaps	%ymm7, %ymm2
	.p2align 4,,10
	.p2align 3
.L3:
	vmovups	(%rax), %ymm1
	vmovups	(%rdx), %ymm0
	addq	$4, %rax
	addq	$256, %rdx
	vmovups	-224(%rdx), %ymm9
	vbroadcastss	%xmm1, %ymm1
	vmulps	%ymm1, %ymm0, %ymm10
	vmulps	%ymm1, %ymm9, %ymm1
	vaddps	%ymm10, %ymm2, %ymm2
	vaddps	%ymm1, %ymm3, %ymm3
	vmovups	252(%rax), %ymm1
	vbroadcastss	%xmm1, %ymm1
	vmulps	%ymm1, %ymm0, %ymm10
	vmulps	%ymm1, %ymm9, %ymm1
	vaddps	%ymm10, %ymm4, %ymm4
	vaddps	%ymm1, %ymm5, %ymm5
	vmovups	508(%rax), %ymm1
	vbroadcastss	%xmm1, %ymm1
	vmulps	%ymm1, %ymm0, %ymm10
	vmulps	%ymm1, %ymm9, %ymm1
	vaddps	%ymm10, %ymm6, %ymm6
	vaddps	%ymm1, %ymm7, %ymm7
	vbroadcastss	764(%rax), %ymm1
	vmulps	%ymm0, %ymm1, %ymm0
	vmulps	%ymm9, %ymm1, %ymm1
	vaddps	72(%rsp), %ymm0, %ymm0
	vaddps	104(%rsp), %ymm1, %ymm1
	vmovaps	%ymm0, 72(%rsp)
	vmovaps	%ymm1, 104(%rsp)
	cmpq	%rcx, %rdx
	jne	.L3
	addl	$16, %r10d
	vmovups	%ymm2, (%rsi)
	leaq	64(%rdx), %rcx
	addq	$64, %rsi
	vmovups	%ymm3, -32(%rsi)
	vmovups	%ymm4, 192(%rsi)
	vmovups	%ymm5, 224(%rsi)
	vmovups	%ymm6, 448(%rsi)
	vmovups	%ymm7, 480(%rsi)
	vmovups	%ymm0, 704(%rsi)
	vmovups	%ymm1, 736(%rsi)
	cmpl	$64, %r10d
	jne	.L6
	addq	$256, %r8
	addq	$1024, %rdi
	cmpq	$4096, %r8
	jne	.L2
	vzeroupper
	movq	-8(%rbp), %rbx
	leave
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE0:
	.size	__tvm_ffi_main, .-__tvm_ffi_main
